package matrix

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/oversell/oversell/internal/printable"
	"github.com/oversell/oversell/result"
)

// defaultWidth is that of a writer that isn't a terminal.
const defaultWidth = 120

// Text writes the matrix for people, in at most width columns (0: 120): the
// tables, why cells were skipped, what wasn't expected and how to repeat it, and
// the gate. Paint, where not nil, colours a cell's word.
func (m *Matrix) Text(w io.Writer, width int, paint func(v result.Verdict, word string) string) error {
	if width <= 0 {
		width = defaultWidth
	}
	if paint == nil {
		paint = func(_ result.Verdict, word string) string { return word }
	}
	var b strings.Builder
	if m.Simulated {
		b.WriteString("SIMULATED: these results come from an imitation of Redis inside this process, not from real servers.\n\n")
	}
	for _, v := range m.Versions {
		for _, g := range m.groups() {
			rows := m.played(g, v)
			for len(g) > 0 && len(rows) > 0 {
				t := m.fit(g, rows, v, width)
				fmt.Fprintf(&b, "%s locks, %s\n", g[0].Group, printable.Line(m.Server(v)))
				t.write(&b, paint)
				b.WriteByte('\n')
				g = g[len(t.columns)-1:]
			}
		}
	}
	m.writeOdd(&b)
	b.WriteString(printable.Line(m.summary()) + "\n")
	for _, line := range m.reasons() {
		b.WriteString("  " + printable.Line(line) + "\n")
	}
	fmt.Fprintf(&b, "\nGate: %s — %s.\n\nTo repeat:\n%s\n",
		strings.ToUpper(string(m.Gate)), m.why(), printable.Line(m.Command))
	_, err := io.WriteString(w, b.String())
	return err
}

// writeOdd tells of every cell that keeps the gate from passing.
func (m *Matrix) writeOdd(b *strings.Builder) {
	told := false
	for _, c := range m.Cells {
		if c.Run == nil || c.Run.Gate == result.Pass {
			continue
		}
		told = true
		fmt.Fprintf(b, "%s, %s: %s, expected %s\n", c.Scenario, c.Lock, c.Run.Verdict, c.Run.Expected)
		for _, f := range c.Run.Findings {
			fmt.Fprintf(b, "  %s: %s\n", f.Property, printable.Line(f.Text))
		}
		fmt.Fprintf(b, "  Files: %s\n  To repeat: %s\n", printable.Line(c.Run.Dir), printable.Line(c.Run.Command))
	}
	if told {
		b.WriteByte('\n')
	}
}

// why says what made the gate what it is.
func (m *Matrix) why() string {
	n := m.Count()
	uncaught := m.Uncaught()
	switch {
	case n.Unexpected > 0:
		return fmt.Sprintf("%d of %d cells didn't come out as the locks claim", n.Unexpected, n.Played)
	case len(uncaught) > 0:
		return "no scenario caught " + strings.Join(uncaught, ", ")
	case n.Played == 0:
		return "nothing was played"
	case n.Untouched > 0:
		return fmt.Sprintf("%d cells are still to be played", n.Untouched)
	case n.Failed > 0:
		return fmt.Sprintf("%d cells broke down before there was a result", n.Failed)
	case n.Inconclusive > 0:
		return fmt.Sprintf("nothing can be concluded from %d of %d cells", n.Inconclusive, n.Played)
	}
	return fmt.Sprintf("all %d cells came out as the locks claim", n.Played)
}

// grid is a table of as many locks as fit beside each other.
type grid struct {
	columns [][]string // the scenarios, then each lock: header lines and cells
	head    int        // header lines
	cells   [][]*Cell  // of each column, nil for the first
}

// maxHeader is where names of locks are broken, at their hyphens.
const maxHeader = 12

// fit takes locks into a grid until the width is used up; one at least.
func (m *Matrix) fit(locks []Lock, rows []Scenario, version string, width int) grid {
	names := []string{"scenario"}
	for _, s := range rows {
		names = append(names, s.Name)
	}
	t := grid{columns: [][]string{names}, cells: [][]*Cell{nil}, head: 1}
	used := widest(names)
	for _, l := range locks {
		header := broken(l.Name)
		column := slices.Clone(header)
		var cells []*Cell
		for _, s := range rows {
			c := m.Cell(s.Name, l.Name, version)
			cells = append(cells, c)
			column = append(column, c.word())
		}
		if used += 2 + widest(column); used > width && len(t.columns) > 1 {
			break
		}
		t.columns, t.cells = append(t.columns, column), append(t.cells, cells)
		t.head = max(t.head, len(header))
	}
	for i, column := range t.columns { // headers stand on the line below them
		own := len(column) - len(rows)
		t.columns[i] = append(make([]string, t.head-own), column...)
	}
	return t
}

// broken cuts a name at hyphens into lines of a header.
func broken(name string) []string {
	var lines []string
	for i, part := range strings.SplitAfter(name, "-") {
		if i > 0 && len(lines[len(lines)-1])+len(part) <= maxHeader {
			lines[len(lines)-1] += part
			continue
		}
		lines = append(lines, part)
	}
	return lines
}

func widest(words []string) int {
	width := 0
	for _, w := range words {
		width = max(width, len(w))
	}
	return width
}

func (t grid) write(b *strings.Builder, paint func(result.Verdict, string) string) {
	rule := make([]string, len(t.columns))
	for i, column := range t.columns {
		rule[i] = strings.Repeat("-", widest(column))
	}
	for row := range t.columns[0] {
		if row == t.head {
			b.WriteString(strings.Join(rule, "  ") + "\n")
		}
		line := ""
		for i, column := range t.columns {
			cell := fmt.Sprintf("%-*s", len(rule[i]), column[row])
			if i == len(t.columns)-1 {
				cell = column[row]
			}
			if i > 0 && row >= t.head {
				if c := t.cells[i][row-t.head]; c != nil && c.Run != nil && c.Failed == "" {
					cell = strings.Replace(cell, column[row], paint(c.Run.Verdict, column[row]), 1)
				}
			}
			if i > 0 {
				line += "  "
			}
			line += cell
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}
