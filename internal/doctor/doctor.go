// Package doctor finds out what this machine can test on.
package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/oversell/oversell/internal/hint"
)

// Status is the outcome of one check.
type Status string

// The outcomes.
const (
	OK   Status = "ok"
	Warn Status = "warn" // it works, but not as well as it could
	No   Status = "no"   // it isn't there
)

// Line is what one check found.
type Line struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	Text   string `json:"text"`
	Hint   string `json:"hint,omitempty"`
}

// Check looks at one thing. Look must return soon after ctx ends.
type Check struct {
	Name string
	Look func(ctx context.Context) []Line
	// Real marks a check that, when its first line is ok, stands for a backend
	// with real servers.
	Real bool
}

// Report is what all checks found.
type Report struct {
	Usable bool   `json:"usable"` // there is a backend with real servers
	Lines  []Line `json:"checks"`
}

// Examine runs the checks at the same time and keeps their order.
func Examine(ctx context.Context, checks []Check) Report {
	found := make([][]Line, len(checks))
	var running sync.WaitGroup
	for i, c := range checks {
		running.Go(func() { found[i] = c.Look(ctx) })
	}
	running.Wait()
	var r Report
	for i, c := range checks {
		if c.Real && len(found[i]) > 0 && found[i][0].Status != No {
			r.Usable = true
		}
		for _, l := range found[i] {
			if l.Check == "" {
				l.Check = c.Name
			}
			r.Lines = append(r.Lines, l)
		}
	}
	return r
}

// Found is a check's line about err, or about what was found when it is nil.
func Found(what string, err error) Line {
	if err != nil {
		return Line{Status: No, Text: err.Error(), Hint: hint.Of(err)}
	}
	return Line{Status: OK, Text: what}
}

// Text writes a line per check, and a hint below it where there is one.
func (r Report) Text(w io.Writer) error {
	wide := 0
	for _, l := range r.Lines {
		wide = max(wide, len(l.Check))
	}
	for _, l := range r.Lines {
		if _, err := fmt.Fprintf(w, "%-4s  %-*s  %s\n", l.Status, wide, l.Check, l.Text); err != nil {
			return err
		}
		if l.Hint == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "%-4s  %-*s  hint: %s\n", "", wide, "", l.Hint); err != nil {
			return err
		}
	}
	return nil
}

// JSON writes the report as one document.
func (r Report) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(r)
}
