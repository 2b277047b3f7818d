package reports

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oversell/oversell/internal/printable"
	"github.com/oversell/oversell/internal/timeline"
)

// The letters of text lanes.
const (
	cellServer  = '.' // the server has the key for a holder who isn't inside
	cellHeld    = '=' // inside, and the key is its own
	cellLost    = '!' // inside, and the key no longer is
	cellPause   = 'z' // the process stands still
	cellFault   = '~'
	cellBoth    = '^' // two inside
	cellOwner   = '-'
	cellSold    = '$'
	cellStale   = '#'
	cellRefused = 'x'
	cellDied    = '+'
)

var lanesLegend = []string{
	"= inside", "! inside without the key", ". Redis has the key for it", "^ two inside", "$ sold",
	"# sold over a stock it had not read", "x write refused", "z stands still", "+ process ended",
}

// nameWidth is the column of lane names.
const nameWidth = 13

// maxTextLanes bounds the instances that are shown; those that had a part in
// the violation come first.
const maxTextLanes = 10

// writeLanes draws the first violation as lanes of text, as wide as there is room.
func writeLanes(buf *bytes.Buffer, t *timeline.Timeline, p palette, width int) {
	vs := t.Harm()
	if len(vs) == 0 {
		vs = t.Violations
	}
	if len(vs) == 0 {
		return
	}
	v := vs[0]
	around := t.Around(v)
	title := "Timeline of the first violation"
	if v.Kind == timeline.Withstood {
		title = "Timeline of what was withstood first"
	}
	writeWrapped(buf, fmt.Sprintf("%s, %s to %s:", title, timeOf(around.From), timeOf(around.To)), "  ", "    ", width, fmt.Sprint)
	c := canvas{Span: around, cells: max(16, width-4-nameWidth), p: p, buf: buf}
	c.axis()
	c.faults(t)
	for _, l := range chosenLanes(t, v, around) {
		c.lane(l)
	}
	c.overlaps(t)
	for _, k := range t.Keys {
		c.key(k)
	}
	c.stock(t)
	c.legend(width)
}

// legend explains the letters; no explanation is broken over lines.
func (c *canvas) legend(width int) {
	line := ""
	for _, words := range lanesLegend {
		if line != "" && len("    "+line+"   "+words) > width {
			c.buf.WriteString("    " + line + "\n")
			line = ""
		}
		if line != "" {
			line += "   "
		}
		line += words
	}
	c.buf.WriteString("    " + line + "\n")
}

// chosenLanes are the lanes on which something happens meanwhile, in order.
func chosenLanes(t *timeline.Timeline, v timeline.Violation, s timeline.Span) []timeline.Lane {
	var part, others []timeline.Lane
	for _, l := range t.Lanes {
		busy := slices.ContainsFunc(l.Holds, func(h timeline.Hold) bool { return h.Whole().Meets(s) }) ||
			slices.ContainsFunc(l.Pauses, func(p timeline.Pause) bool { return p.Meets(s) })
		switch {
		case slices.Contains(v.Participants, l.Instance):
			part = append(part, l)
		case busy:
			others = append(others, l)
		}
	}
	part = part[:min(len(part), maxTextLanes)]
	chosen := append(part, others[:min(len(others), maxTextLanes-len(part))]...)
	slices.SortFunc(chosen, func(a, b timeline.Lane) int { return a.Instance - b.Instance })
	return chosen
}

// canvas draws lines of cells, each of which is a part of a span of time.
type canvas struct {
	timeline.Span
	cells int
	p     palette
	buf   *bytes.Buffer
}

// cell is where a time is: it may lie outside.
func (c *canvas) cell(at time.Duration) int {
	return int(float64(at-c.From) / float64(max(1, c.Len())) * float64(c.cells))
}

// row is one line of cells.
func (c *canvas) row() []rune { return []rune(strings.Repeat(" ", c.cells)) }

// fill draws a span; what is shorter than a cell takes one.
func (c *canvas) fill(row []rune, s timeline.Span, r rune) (from, to int) {
	if !s.Meets(c.Span) {
		return 0, 0
	}
	from, to = max(0, min(c.cell(s.From), c.cells-1)), min(c.cells, max(c.cell(s.To), c.cell(s.From)+1))
	for i := from; i < to; i++ {
		row[i] = r
	}
	return from, max(from, to)
}

// put draws one letter at a time.
func (c *canvas) put(row []rune, at time.Duration, r rune) {
	if at >= c.From && at <= c.To {
		row[min(c.cell(at), c.cells-1)] = r
	}
}

// label writes words into a drawn span, if there is room for them.
func label(row []rune, from, to int, words string) {
	if w := []rune(words); len(w) > 0 && len(w)+2 <= to-from {
		copy(row[from+1:], w)
	}
}

func (c *canvas) line(name string, row []rune) {
	text := strings.TrimRight(c.paint(row), " ")
	c.buf.WriteString(strings.TrimRight("    "+padded(name)+text, " ") + "\n")
}

func padded(name string) string {
	name = printable.Cut(name, nameWidth-1)
	return name + strings.Repeat(" ", max(1, nameWidth-printable.Width(name)))
}

// paint colours runs of the letters that matter.
func (c *canvas) paint(row []rune) string {
	var b strings.Builder
	for i := 0; i < len(row); {
		j := i
		for j < len(row) && kindOfCell(row[j]) == kindOfCell(row[i]) {
			j++
		}
		text := string(row[i:j])
		switch kindOfCell(row[i]) {
		case 1:
			text = c.p.bad(text)
		case 2:
			text = c.p.doubtful(text)
		}
		b.WriteString(text)
		i = j
	}
	return b.String()
}

// kindOfCell is 1 for what is bad, 2 for faults.
func kindOfCell(r rune) int {
	switch r {
	case cellLost, cellBoth, cellStale, cellRefused:
		return 1
	case cellFault:
		return 2
	}
	return 0
}

// axis writes times where they fall.
func (c *canvas) axis() {
	row := c.row()
	step := niceStep(c.Len(), max(1, c.cells/14))
	for t := (c.From + step - 1) / step * step; t <= c.To; t += step {
		words := "|" + axisTime(t, float64(step))
		if at := c.cell(t); at+len(words) <= c.cells {
			copy(row[at:], []rune(words))
		}
	}
	c.line("", row)
}

func (c *canvas) faults(t *timeline.Timeline) {
	shown := 0
	for _, f := range t.Faults {
		if !f.Meets(c.Span) || shown == maxFaultRows {
			continue
		}
		shown++
		row := c.row()
		from, to := c.fill(row, f.Span, cellFault)
		name := printable.Cut(printable.Line(f.Name), maxCell)
		label(row, from, to, name)
		if n := len(name) + 2; to-from < n && to+n <= c.cells {
			copy(row[to+1:], []rune(name))
		}
		lane := ""
		if shown == 1 {
			lane = "faults"
		}
		c.line(lane, row)
	}
}

func (c *canvas) lane(l timeline.Lane) {
	for r := range max(1, l.Rows) {
		row := c.row()
		used := r == 0
		for _, h := range l.Holds {
			if h.Row == r && h.Whole().Meets(c.Span) {
				c.hold(row, h)
				c.commit(row, h)
				used = true
			}
		}
		for _, h := range l.Holds { // what is bad is seen, however close to a sale it is
			if h.Row == r && h.Outcome != timeline.Sold {
				c.commit(row, h)
			}
		}
		if r == 0 {
			for _, p := range l.Pauses {
				c.fill(row, p.Span, cellPause)
			}
			if l.Died != nil {
				c.put(row, l.Died.At, cellDied)
			}
		}
		name := ""
		if r == 0 {
			name = fmt.Sprintf("instance %d", l.Instance)
		}
		if used {
			c.line(name, row)
		}
	}
}

func (c *canvas) hold(row []rune, h timeline.Hold) {
	if h.Server != (timeline.Span{}) {
		c.fill(row, h.Server, cellServer)
	}
	if h.Span != (timeline.Span{}) {
		from, to := c.fill(row, h.Span, cellHeld)
		if h.Early {
			c.fill(row, timeline.Span{From: max(h.From, h.Server.To), To: h.To}, cellLost)
		}
		if h.Buyer > 0 {
			label(row, from, to, " buyer "+strconv.Itoa(h.Buyer)+" ")
		}
	}
}

// commit marks what became of a hold's commit.
func (c *canvas) commit(row []rune, h timeline.Hold) {
	if h.Commit == nil {
		return
	}
	switch h.Outcome {
	case timeline.Sold:
		c.put(row, h.Commit.At, cellSold)
	case timeline.Stale:
		c.put(row, h.Commit.At, cellStale)
	case timeline.Refused:
		c.put(row, h.Commit.At, cellRefused)
	}
}

func (c *canvas) overlaps(t *timeline.Timeline) {
	row, any := c.row(), false
	for _, o := range t.Overlaps {
		if o.Meets(c.Span) {
			c.fill(row, o.Span, cellBoth)
			any = true
		}
	}
	if any {
		c.line("two inside", row)
	}
}

// key draws whose the key is: the instance's number, and dashes.
func (c *canvas) key(k timeline.KeyLane) {
	row := c.row()
	for _, g := range k.Grants {
		if !g.Meets(c.Span) {
			continue
		}
		from, to := c.fill(row, g.Span, cellOwner)
		if g.Many == 0 {
			n := []rune(strconv.Itoa(g.Instance))
			copy(row[from:max(from, min(to, from+len(n)))], n)
		}
	}
	name := "Redis"
	if k.Server != "" {
		name = printable.Line(k.Server)
	}
	c.line(name, row)
}

// stock writes the stock after each commit, where there is room.
func (c *canvas) stock(t *timeline.Timeline) {
	row := c.row()
	free := 0
	level := t.Plan.Stock
	for _, l := range t.Stock {
		if l.At < c.From {
			level = l.Stock
		}
	}
	write := func(at int, units int) {
		words := []rune(strconv.Itoa(units))
		if at >= free && at+len(words) <= c.cells {
			copy(row[at:], words)
			free = at + len(words) + 1
		}
	}
	write(0, level)
	for _, l := range t.Stock {
		if l.At >= c.From && l.At <= c.To {
			write(min(c.cell(l.At), c.cells-1), l.Stock)
		}
	}
	c.line("stock", row)
}
