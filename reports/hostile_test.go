package reports_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/reports"
	"github.com/oversell/oversell/result"
)

// nasty are names that somebody could give a scenario, a lock or a key.
var nasty = map[string]string{
	"script":        `<script>alert(1)</script>"'&`,
	"markup":        "]]> --> </pre></details> | ` * [x](y) ::error::x %0A",
	"control":       "a\x00b\x01c\x1b[31md\x07e\x7f\u009b31m",
	"lines":         "one\ntwo\r\nthree\u2028four\u0085five\tsix",
	"invalid UTF-8": "a\xff\xc0\x80\xed\xa0\x80b",
	"direction":     "\u202etxt.exe\u2066",
	"long":          strings.Repeat("x", 10_000),
	"long and wide": strings.Repeat("库", 10_000),
	"nothing":       "",
}

// named is a failed run with a name everywhere, its history included.
func named(t *testing.T, name string) result.Run {
	t.Helper()
	dir := t.TempDir()
	h := history.Event{Instance: 1, Buyer: 1, Purchase: name, Server: name, Command: name, Key: name, Value: name, Text: name, Err: name, Fault: name, Step: 1}
	f, err := os.Create(filepath.Join(dir, history.EventsFile))
	require.NoError(t, err)
	defer f.Close()
	rec := history.NewRecorder(f, func() time.Duration { return time.Second }, nil)
	for i, k := range []history.Kind{
		history.LoadStarted, history.WireAcquired, history.Acquired, history.CallStart, history.FaultInjected, history.CallEnd,
		history.Committed, history.ReleaseStart, history.WireReleased, history.FaultHealed, history.ServerRole, history.InstanceExited, history.LoadEnded,
	} {
		e := h
		e.Kind, e.At, e.Done = k, time.Duration(i+1)*time.Millisecond, true
		rec.Record(e)
	}
	require.NoError(t, rec.Flush())
	return with(notProvoked(), func(r *result.Run) {
		r.Scenario, r.Lock, r.Alias, r.Server, r.Backend = name, name, name, name, name
		r.Hazard, r.Command, r.Dir = result.Hazard(name), "oversell run --lock "+name, dir
		r.Story = []string{name}
		r.Evidence = []result.Evidence{{Fault: name, Proof: name}}
		r.Findings = []result.Finding{{Property: result.Property(name), Verdict: result.OK, Text: name, Events: []int64{3}}}
		r.ServerInfo = map[string]any{name: name}
		r.Baseline = &result.Baseline{State: result.New, Verdict: result.Verdict(name), Gate: result.Gate(name)}
	})
}

// readers read what a format has written, as programs would.
var readers = map[string]func(t *testing.T, out string){
	"text": func(t *testing.T, out string) {
		for _, r := range out {
			require.True(t, r == '\n' || unicode.IsPrint(r), "%U", r)
		}
	},
	"json": func(t *testing.T, out string) {
		var d result.Document
		require.NoError(t, json.Unmarshal([]byte(out), &d))
		assert.Len(t, d.Runs, 2)
	},
	"ndjson": func(t *testing.T, out string) {
		lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		require.Len(t, lines, 2)
		for _, line := range lines {
			var l result.Line
			require.NoError(t, json.Unmarshal([]byte(line), &l))
			assert.Equal(t, result.LineSchema, l.Schema)
		}
	},
	"junit": func(t *testing.T, out string) {
		root := parseXML(t, out)
		validate(t, root)
		assert.Len(t, root.children, 2)
		for _, r := range out {
			require.True(t, r == '\n' || !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r), "%U", r)
		}
	},
	"md": func(t *testing.T, out string) {
		assert.NotContains(t, out, "<script")
		for _, r := range out {
			require.True(t, r == '\n' || unicode.IsPrint(r), "%U", r)
		}
	},
	"html": func(t *testing.T, out string) {
		shell := shells.FindAllString(out, -1)
		require.NotEmpty(t, shell)
		rest := withoutShell(out)
		for _, element := range []string{"script", "style", "iframe", "img"} {
			for _, opened := range regexp.MustCompile("(?i)<"+element+"[^>]*>").FindAllString(rest, -1) {
				assert.Equal(t, `<script type="application/json" id="raw">`, opened, "an element that a name has brought in")
			}
		}
		for _, r := range rest {
			require.True(t, r == '\n' || r == '\t' || unicode.IsPrint(r), "%U", r)
		}
	},
	"sarif": func(t *testing.T, out string) {
		doc, err := sarif.FromString(out, sarif.WithStrictValidation())
		require.NoError(t, err)
		require.NoError(t, doc.Validate())
		assert.Len(t, doc.Runs[0].Results, 2)
	},
	"trace": func(t *testing.T, out string) {
		var doc struct{ TraceEvents []map[string]any }
		require.NoError(t, json.Unmarshal([]byte(out), &doc))
		assert.Greater(t, len(doc.TraceEvents), 20)
		for _, e := range doc.TraceEvents {
			assert.LessOrEqual(t, len(e["name"].(string)), 2000)
		}
	},
}

// Names are data in every format, whatever is in them. A new format needs a
// reader here; one that others test is read by them.
func TestNoNameBreaksAnyFormat(t *testing.T) {
	t.Parallel()
	for _, f := range reports.All() {
		for what, name := range nasty {
			t.Run(f.Name+"/"+what, func(t *testing.T) {
				t.Parallel()
				runs := []result.Run{named(t, name), named(t, name)}
				out := write(t, f, runs, reports.Options{})
				assert.True(t, utf8.ValidString(out))
				assert.Less(t, len(out), 5_000_000)
				read, ok := readers[f.Name]
				require.True(t, ok, "no reader tells whether %s was broken", f.Name)
				read(t, out)
				title, text := reports.Annotation(runs[0])
				for _, r := range title + text {
					require.True(t, r == '\n' || unicode.IsPrint(r), "%U", r)
				}
			})
		}
	}
}
