package reports

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/oversell/oversell/internal/printable"
	"github.com/oversell/oversell/result"
)

// maxCell is the width of the longest ordinary name with its alias; longer
// ones are cut.
const maxCell = 32

// A column of the table. Its header may have two lines.
type column struct {
	header string
	right  bool // numbers
	cell   func(result.Run, palette) string
}

var (
	scenarioColumn = column{"scenario", false, func(r result.Run, _ palette) string { return scenarioCell(r) }}
	lockColumn     = column{"lock", false, func(r result.Run, _ palette) string { return printable.Cut(lockName(r), maxCell) }}
	shortColumn    = column{"lock", false, func(r result.Run, _ palette) string { return printable.Cut(shortLock(r), maxCell/2) }}
	expectedColumn = column{"expected", false, func(r result.Run, _ palette) string { return printable.Cut(string(r.Expected), 12) }}
	verdictColumn  = column{"verdict", false, func(r result.Run, p palette) string {
		r.Verdict = result.Verdict(printable.Cut(string(r.Verdict), 12))
		return p.verdict(r.Verdict)
	}}
	gateColumn       = column{"gate", false, func(r result.Run, p palette) string { return p.gate(r.Gate) }}
	violationsColumn = column{"vio-\nlations", true, func(r result.Run, _ palette) string {
		return fmt.Sprintf("%d/%d", r.Violations, r.Trials)
	}}
	serverColumn   = column{"server", false, func(r result.Run, _ palette) string { return printable.Cut(r.Server, maxCell/2) }}
	soldColumn     = numbers("sold", func(r result.Run) int { return r.Sold })
	leftColumn     = numbers("left", func(r result.Run) int { return r.Stock.Left })
	oversoldColumn = numbers("over-\nsold", func(r result.Run) int { return r.Oversold })
	holdersColumn  = numbers("two\nholders", func(r result.Run) int { return r.DoubleHolds })
	refusedColumn  = numbers("fence\nrefused", func(r result.Run) int { return r.FenceRefused })
	timeColumn     = column{"time", true, func(r result.Run, _ palette) string { return seconds(r.DurationMS) }}
)

func scenarioCell(r result.Run) string { return printable.Cut(r.Scenario, maxCell) }

func numbers(header string, of func(result.Run) int) column {
	return column{header, true, func(r result.Run, _ palette) string { return strconv.Itoa(of(r)) }}
}

// tableOf renders runs as a table of at most width columns (0: as wide as it
// is). What doesn't fit goes in this order: scenarios move from a column to
// lines of their own, locks lose their long names, then the columns go that the
// rest of the report tells again, and at last the servers, where they differ.
func tableOf(runs []result.Run, p palette, width int) string {
	l := layout{columns: columnsFor(runs)}
	out := l.render(runs, p)
	for _, narrow := range []func(){
		func() { l.liftScenarios(runs) },
		func() { l.replace(lockColumn, shortColumn) },
		func() { l.drop(leftColumn) },
		func() { l.drop(timeColumn) },
		func() { l.drop(refusedColumn) },
		func() { l.drop(holdersColumn) },
		func() { l.drop(serverColumn) },
	} {
		if width == 0 || widest(out) <= width {
			break
		}
		narrow()
		out = l.render(runs, p)
	}
	return out
}

// layout is how the table is cut to the room there is.
type layout struct {
	columns []column
	title   string // above the table
	grouped bool   // each scenario stands in a row above its locks
}

// liftScenarios takes the scenarios out of the rows: to a title when there is
// but one.
func (l *layout) liftScenarios(runs []result.Run) {
	l.drop(scenarioColumn)
	if sameScenario(runs) {
		l.title = scenarioCell(runs[0]) + "\n"
	} else {
		l.grouped = true
	}
}

func (l *layout) drop(c column) {
	l.columns = slices.DeleteFunc(l.columns, func(d column) bool { return d.header == c.header })
}

func (l *layout) replace(c, by column) {
	for i := range l.columns {
		if l.columns[i].header == c.header {
			l.columns[i] = by
		}
	}
}

func columnsFor(runs []result.Run) []column {
	columns := []column{scenarioColumn, lockColumn}
	if slices.ContainsFunc(runs, func(r result.Run) bool { return r.Server != runs[0].Server }) {
		columns = append(columns, serverColumn)
	}
	columns = append(columns, expectedColumn, verdictColumn, gateColumn)
	if slices.ContainsFunc(runs, func(r result.Run) bool { return r.Trials > 1 }) {
		columns = append(columns, violationsColumn)
	}
	return append(columns, soldColumn, leftColumn, oversoldColumn, holdersColumn, refusedColumn, timeColumn)
}

func sameScenario(runs []result.Run) bool {
	return !slices.ContainsFunc(runs, func(r result.Run) bool { return r.Scenario != runs[0].Scenario })
}

func (l layout) render(runs []result.Run, p palette) string {
	t := table.NewWriter()
	t.SetStyle(quiet)
	t.SuppressTrailingSpaces()
	header := make(table.Row, len(l.columns))
	configs := make([]table.ColumnConfig, len(l.columns))
	for i, c := range l.columns {
		header[i] = c.header
		if l.grouped && i == 0 {
			header[i] = "scenario\n  " + c.header
		}
		configs[i] = table.ColumnConfig{Number: i + 1, Align: text.AlignLeft, AlignHeader: text.AlignLeft, VAlignHeader: text.VAlignBottom}
		if c.right {
			configs[i].Align, configs[i].AlignHeader = text.AlignRight, text.AlignRight
		}
	}
	t.SetColumnConfigs(configs)
	t.AppendHeader(header)
	for i, r := range runs {
		if l.grouped && (i == 0 || r.Scenario != runs[i-1].Scenario) {
			t.AppendRow(table.Row{scenarioCell(r)})
		}
		t.AppendRow(l.row(r, p))
	}
	return l.title + t.Render() + "\n"
}

func (l layout) row(r result.Run, p palette) table.Row {
	row := make(table.Row, len(l.columns))
	for i, c := range l.columns {
		cell := c.cell(r, p)
		if l.grouped && i == 0 {
			cell = "  " + cell
		}
		row[i] = cell
	}
	return row
}

// quiet draws nothing but a line under each header, in ASCII: other line
// characters are two columns wide in some locales.
var quiet = table.Style{
	Name: "quiet",
	Box: table.BoxStyle{
		MiddleHorizontal: "-",
		MiddleVertical:   "  ",
		MiddleSeparator:  "  ",
	},
	Options: table.Options{SeparateColumns: true, SeparateHeader: true},
}

func widest(block string) int {
	width := 0
	for line := range strings.Lines(block) {
		width = max(width, printable.Width(strings.TrimSuffix(line, "\n")))
	}
	return width
}
