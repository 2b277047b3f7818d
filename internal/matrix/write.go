package matrix

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/oversell/oversell/internal/printable"
	"github.com/oversell/oversell/result"
)

// JSON writes the matrix as one document, which Read reads back.
func (m *Matrix) JSON(w io.Writer) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(m); err != nil {
		return fmt.Errorf("encode the matrix: %w", err)
	}
	_, err := b.WriteTo(w)
	return err
}

// The words in a cell that isn't a verdict.
const (
	skippedWord   = "-"
	failedWord    = "failed"
	untouchedWord = "..."
	unexpected    = "!" // behind a verdict
)

// word is what stands in a cell.
func (c *Cell) word() string {
	switch {
	case c == nil || c.Skipped != "":
		return skippedWord
	case c.Failed != "":
		return failedWord
	case c.Run == nil:
		return untouchedWord
	case c.Run.Gate == result.Fail:
		return string(c.Run.Verdict) + " " + unexpected
	}
	return string(c.Run.Verdict)
}

// groups are the locks, those of one group together.
func (m *Matrix) groups() [][]Lock {
	var groups [][]Lock
	for _, l := range m.Locks {
		i := slices.IndexFunc(groups, func(g []Lock) bool { return g[0].Group == l.Group })
		if i < 0 {
			groups = append(groups, nil)
			i = len(groups) - 1
		}
		groups[i] = append(groups[i], l)
	}
	return groups
}

// Markdown writes a table for each group of locks and version, and what there
// is to know about the cells that have no verdict.
func (m *Matrix) Markdown(w io.Writer) error {
	var b strings.Builder
	for _, v := range m.Versions {
		for _, g := range m.groups() {
			if len(m.played(g, v)) == 0 {
				continue
			}
			fmt.Fprintf(&b, "**%s** on %s:\n\n| scenario | hazard |", g[0].Group, escape(m.Server(v)))
			for _, l := range g {
				fmt.Fprintf(&b, " `%s` |", l.Name)
			}
			b.WriteString("\n| --- | --- |" + strings.Repeat(" --- |", len(g)) + "\n")
			for _, s := range m.played(g, v) {
				fmt.Fprintf(&b, "| `%s` | %s |", s.Name, s.Hazard)
				for _, l := range g {
					fmt.Fprintf(&b, " %s |", markdownCell(m.Cell(s.Name, l.Name, v)))
				}
				b.WriteByte('\n')
			}
			b.WriteByte('\n')
		}
	}
	b.WriteString(escape(m.summary()) + "\n")
	for _, line := range m.reasons() {
		b.WriteString("- " + escape(line) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// markdownCell sets off what a reader looks for: the violations.
func markdownCell(c *Cell) string {
	word := c.word()
	if c != nil && c.Run != nil && c.Failed == "" && c.Run.Verdict.Violation() {
		return "**" + word + "**"
	}
	return word
}

func escape(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`).Replace(printable.Line(s))
}

// summary counts the cells in one sentence.
func (m *Matrix) summary() string {
	n := m.Count()
	text := fmt.Sprintf("%d locks x %d scenarios on %s: %d cells, %d played, %d skipped",
		len(m.Locks), len(m.Scenarios), m.Backend, n.Cells, n.Played, n.Skipped)
	for _, more := range []struct {
		n    int
		what string
	}{{n.Unexpected, "not as expected"}, {n.Inconclusive, "inconclusive"}, {n.Failed, "failed"}, {n.Untouched, "not played yet"}} {
		if more.n > 0 {
			text += fmt.Sprintf(", %d %s", more.n, more.what)
		}
	}
	if m.Simulated {
		text = "SIMULATED: " + text
	}
	return text + "; " + (time.Duration(m.PlayedMS) * time.Millisecond).Round(time.Second).String() + "."
}

// reasons explains the marks, and then, each once, why cells were skipped.
func (m *Matrix) reasons() []string {
	var lines []string
	n := m.Count()
	if n.Skipped > 0 {
		lines = append(lines, skippedWord+" is a cell that can't be played; why is below")
	}
	if n.Unexpected > 0 {
		lines = append(lines, unexpected+" is a verdict that the lock's claims don't allow")
	}
	var whys []string
	for _, c := range m.Cells {
		switch {
		case c.Failed != "":
			lines = append(lines, fmt.Sprintf("%s under %s failed: %s", c.Scenario, c.Lock, c.Failed))
		case c.Skipped != "" && !slices.Contains(whys, c.Skipped):
			whys = append(whys, c.Skipped)
		}
	}
	for _, why := range whys {
		lines = append(lines, m.skipped(why))
	}
	return lines
}

// skipped says which cells were skipped for a reason, in as few words as will do.
func (m *Matrix) skipped(why string) string {
	var locks, scenarios []string
	cells := 0
	for _, c := range m.Cells {
		if c.Skipped != why {
			continue
		}
		cells++
		if !slices.Contains(locks, c.Lock) {
			locks = append(locks, c.Lock)
		}
		if !slices.Contains(scenarios, c.Scenario) {
			scenarios = append(scenarios, c.Scenario)
		}
	}
	whose := locks
	if len(locks) == len(m.Locks) {
		whose = scenarios
	}
	return fmt.Sprintf("%s, %d skipped: %s", strings.Join(whose, ", "), cells, why)
}

// played are the scenarios that at least one of the locks could be put to.
func (m *Matrix) played(locks []Lock, version string) []Scenario {
	var list []Scenario
	for _, s := range m.Scenarios {
		if slices.ContainsFunc(locks, func(l Lock) bool {
			c := m.Cell(s.Name, l.Name, version)
			return c != nil && c.Skipped == ""
		}) {
			list = append(list, s)
		}
	}
	return list
}
