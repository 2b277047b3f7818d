package retrace_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/internal/retrace"
	"github.com/oversell/oversell/internal/timeline"
	"github.com/oversell/oversell/result"
)

func TestTmp(t *testing.T) {
	dirs, _ := filepath.Glob("/tmp/html-runs/*")
	for _, dir := range dirs {
		h, err := history.Load(dir)
		require.NoError(t, err)
		var doc result.Document
		data, err := os.ReadFile(filepath.Join(dir, "result.json"))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &doc))
		tl := retrace.Timeline(h, doc.Runs[0], timeline.Ordinary())
		t.Log(dir, len(tl.Violations), len(tl.Lanes), len(tl.Overlaps), len(tl.Stock), tl.Span, tl.Opening())
		for _, l := range tl.Lanes {
			t.Log(" lane", l.Instance, l.Rows, len(l.Holds), l.Pauses, l.Died)
		}
		for _, f := range tl.Faults[:min(4, len(tl.Faults))] {
			t.Log(" fault", f)
		}
		for _, v := range tl.Violations[:min(2, len(tl.Violations))] {
			t.Logf(" v %+v", v)
		}
		t.Log(tl.Roles)
	}
}
