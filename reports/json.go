package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/oversell/oversell/result"
)

// JSON is the whole outcome as one document, for programs. Fields may be added
// to it; none changes its meaning while the schema's name stays the same.
func JSON() Format {
	return Format{
		Name:    "json",
		Ext:     "json",
		Summary: "one document with everything known about the runs (" + result.Schema + ")",
		Write:   writeJSON,
	}
}

func writeJSON(w io.Writer, runs []result.Run, _ Options) error {
	complete := make([]result.Run, len(runs))
	for i, r := range runs {
		complete[i] = withoutNulls(r)
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(result.NewDocument(complete)); err != nil {
		return fmt.Errorf("encode the results as JSON: %w", err)
	}
	return flush(w, &buf)
}

// withoutNulls returns r with an empty list wherever it has none, so that no
// reader has to tell the two apart.
func withoutNulls(r result.Run) result.Run {
	r.Evidence = list(r.Evidence)
	r.Story = list(r.Story)
	findings := make([]result.Finding, len(r.Findings))
	for i, f := range r.Findings {
		f.Events = list(f.Events)
		findings[i] = f
	}
	r.Findings = findings
	info := make(map[string]any, len(r.ServerInfo))
	for name, v := range r.ServerInfo {
		// JSON knows no infinity: a rate over no time at all is left out.
		if n, ok := v.(float64); ok && (math.IsNaN(n) || math.IsInf(n, 0)) {
			continue
		}
		info[name] = v
	}
	r.ServerInfo = info
	if r.Verdicts == nil {
		r.Verdicts = map[result.Verdict]int{}
	}
	return r
}

func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// flush writes what was built to w in one go: either all of a report is
// there, or the writer's error is.
func flush(w io.Writer, buf *bytes.Buffer) error {
	_, err := buf.WriteTo(w)
	return err
}
