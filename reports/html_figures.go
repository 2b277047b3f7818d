package reports

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/oversell/oversell/result"
)

// figuresView is what a dashboard of the lock's server showed of one run.
type figuresView struct {
	Name, Summary string
	Charts        []chartView
}

type chartView struct {
	Title, Now, Alt, Path string
	Zero                  int // where zero is, 0 for none
	Strong                bool
}

const chartHeight = 46

// metric is one figure of a server, and how people read it.
type metric struct {
	name, title string
	show        func(float64) string
}

func metrics() []metric {
	return []metric{
		{result.InfoCPU, "CPU of Redis", func(n float64) string { return fmt.Sprintf("%.0f %%", n) }},
		{result.InfoMemory, "memory of Redis", func(n float64) string { return fmt.Sprintf("%.1f MB", n/1e6) }},
		{result.InfoSlowLog, "slow log", func(n float64) string { return count(n, "entry", "entries") }},
		{result.InfoConnections, "connections", func(n float64) string { return fmt.Sprintf("%.0f", n) }},
		{result.InfoCommands, "commands", func(n float64) string { return fmt.Sprintf("%.0f/s", n) }},
	}
}

// figures are the server's figures over the run beside what was left to sell.
func (d *drawn) figures() []figuresView {
	v := figuresView{Name: d.name, Summary: d.figuresSummary()}
	if d.t != nil && len(d.t.Samples) > 1 {
		v.Charts = append(v.Charts, d.leftChart())
		for _, m := range metrics() {
			if c, ok := d.chart(m); ok {
				v.Charts = append(v.Charts, c)
			}
		}
	}
	if v.Summary == "" && len(v.Charts) == 0 {
		return nil
	}
	return []figuresView{v}
}

func (d *drawn) figuresSummary() string {
	var parts []string
	for _, m := range metrics() {
		if n, ok := number(d.r.ServerInfo[m.name]); ok {
			parts = append(parts, m.title+" "+m.show(n))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	text := "Over the load: " + strings.Join(parts, ", ")
	if d.r.Verdict == result.Oversold {
		text += fmt.Sprintf("; meanwhile %s sold that weren’t there", plural(d.r.Oversold, "unit"))
	}
	return text + "."
}

func figuresLead(runs []result.Run) string {
	for _, r := range runs {
		if r.Verdict == result.Oversold {
			return "What a dashboard of the lock’s server showed while units were sold twice: nothing unusual."
		}
	}
	return "What a dashboard of the lock’s server showed over the run."
}

// leftChart is what was really left to sell, below zero when too much was sold.
func (d *drawn) leftChart() chartView {
	path, zero, low := d.leftPath(chartHeight, d.t.To)
	last := d.t.Plan.Stock
	if n := len(d.t.Stock); n > 0 {
		last = d.t.Stock[n-1].Really
	}
	return chartView{
		Title: "really left to sell", Now: fmt.Sprint(last), Path: path, Zero: zero, Strong: low < 0,
		Alt: fmt.Sprintf("Really left to sell: from %d to %d", d.t.Plan.Stock, last),
	}
}

// leftPath is a step line of what was really left, 1000 wide for a time until to.
func (d *drawn) leftPath(height int, to time.Duration) (path string, zero, low int) {
	high := max(1, d.t.Plan.Stock)
	for _, l := range d.t.Stock {
		low = min(low, l.Really)
	}
	y := func(n int) int { return 3 + int(float64(high-n)/float64(high-low)*float64(height-6)) }
	var b strings.Builder
	fmt.Fprintf(&b, "M0 %d", y(d.t.Plan.Stock))
	x := func(t time.Duration) int { return int(1000 * float64(t) / float64(max(1, to))) }
	for _, l := range d.t.Stock {
		fmt.Fprintf(&b, "H%dV%d", x(l.At), y(l.Really))
	}
	fmt.Fprintf(&b, "H%d", x(d.t.To))
	return b.String(), y(0), low
}

// chart is one figure over the run; ok is false when there are too few samples.
func (d *drawn) chart(m metric) (chartView, bool) {
	var at, values []float64
	top := 0.0
	for _, s := range d.t.Samples {
		if v, ok := s.Values[m.name]; ok && !math.IsNaN(v) && !math.IsInf(v, 0) {
			at, values = append(at, float64(s.At)/float64(max(1, d.t.To))), append(values, v)
			top = max(top, v)
		}
	}
	if len(values) < 2 {
		return chartView{}, false
	}
	scale := top
	if m.name == result.InfoCPU {
		scale = max(100, top) // of one core: a flat line is the point
	}
	if scale == 0 {
		scale = 1
	}
	var b strings.Builder
	for i, v := range values {
		op := "L"
		if i == 0 {
			op = "M"
		}
		fmt.Fprintf(&b, "%s%.0f %.1f", op, 1000*at[i], chartHeight-3-v/scale*(chartHeight-8))
	}
	c := chartView{Title: m.title, Now: "at most " + m.show(top), Path: b.String()}
	c.Alt = fmt.Sprintf("%s over the run: %s", c.Title, c.Now)
	return c, true
}

// comparedView sets several runs side by side.
type comparedView struct {
	Columns []columnView
	Rows    []comparedRow
	Stocks  *stocksView
}

type columnView struct {
	Name  string
	Right bool
}

type comparedRow struct {
	Name, Tone string
	Cells      []cellView
}

type cellView struct {
	Text  string
	Right bool
}

type stocksView struct {
	Rows []stockRow
	To   string
}

type stockRow struct {
	Name, Tone, Path, Alt, End string
	Zero                       int
}

const stocksHeight = 64

func compare(ds []*drawn, x axis) *comparedView {
	c := &comparedView{}
	for _, name := range []string{"expected", "verdict", "gate"} {
		c.Columns = append(c.Columns, columnView{Name: name})
	}
	for _, name := range []string{"sold", "too many", "left", "two holders", "lost updates", "fence refused", "took"} {
		c.Columns = append(c.Columns, columnView{name, true})
	}
	stocks := &stocksView{To: timeOf(x.to)}
	for _, d := range ds {
		r := d.r
		row := comparedRow{Name: d.name, Tone: tone(r)}
		for _, s := range []string{string(r.Expected), strings.ToLower(badge(r)), gateName(r.Gate)} {
			row.Cells = append(row.Cells, cellView{Text: s})
		}
		for _, n := range []int{r.Sold, r.Oversold, r.Stock.Left, r.DoubleHolds, r.LostUpdates, r.FenceRefused} {
			row.Cells = append(row.Cells, cellView{fmt.Sprint(n), true})
		}
		row.Cells = append(row.Cells, cellView{seconds(r.DurationMS), true})
		c.Rows = append(c.Rows, row)
		if d.t != nil {
			s := stockRow{Name: d.name, Tone: tone(r)}
			s.Path, s.Zero, _ = d.leftPath(stocksHeight, x.to)
			last := d.leftChart()
			s.Alt, s.End = last.Alt, "ends at "+last.Now
			stocks.Rows = append(stocks.Rows, s)
		}
	}
	if len(stocks.Rows) > 0 {
		c.Stocks = stocks
	}
	return c
}
