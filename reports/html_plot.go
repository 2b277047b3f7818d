package reports

import (
	"fmt"
	"strings"
	"time"

	"github.com/oversell/oversell/internal/timeline"
)

// plotView is a run's lanes on the page's axis. Whatever has a time is placed
// in percent, so that zooming is a matter of one width.
type plotView struct {
	ID, Name, Tone, Alt, OverviewAlt, OverlapAlt string

	Height, BandHeight int
	Labels             []labelView
	Rules              []int
	Grid               []tickView
	Window, Zoom       spot
	First, Focus       *spot

	Faults       []barView
	Bands        []spot // within which there is a fault, each once
	Lanes        []laneView
	Overlaps     []barView
	Keys         []keyView
	Roles        []roleView
	Stock        *stockView
	OverviewPath string
	Violations   []tickMark
}

type labelView struct {
	Y           int
	Text, Class string
}

type tickMark struct{ X, Class string }

// boxView is a box with words in it that are cut at its end.
type boxView struct {
	spot
	Y, H, TextY int
	Class, Text string
	TextX       string // where in the box the words begin, for one that begins before what is shown
	Hidden      bool   // there is no room for the words at first
}

// usualWidth is how wide lanes are on an ordinary screen, and letterWidth how
// wide a letter in a box is.
const (
	usualWidth  = 1080
	letterWidth = 6
)

// box is a box with words from one time to another.
func (b *plotter) box(from, to time.Duration, y, h, textY int, class, text string) boxView {
	v := boxView{spot: b.x.place(from, to), Y: y, H: h, TextY: textY, Class: class, Text: text, TextX: "0"}
	a, z := b.x.of(from), b.x.of(to)
	if a < b.x.a && z > b.x.a {
		v.TextX = percent((b.x.a - a) / (z - a))
	}
	room := (min(z, b.x.b) - max(a, b.x.a)) / max(1e-9, b.x.b-b.x.a) * usualWidth
	v.Hidden = room < float64(len([]rune(text))*letterWidth+8)
	return v
}

type barView struct {
	spot
	Title, Target string
	Box           boxView
}

// The measures of a plot, in pixels.
const (
	axisHeight  = 22
	rowHeight   = 18
	boxHeight   = 16
	laneGap     = 7
	flagHeight  = 14
	stockHeight = 84
)

// plot draws the run's lanes on an axis.
func (d *drawn) plot(x axis) *plotView {
	p := &plotView{ID: d.id, Name: d.name, Tone: tone(d.r), Grid: x.grid()}
	p.Window = spot{percent(x.a), percent(x.b - x.a)}
	w := max(1e-9, x.b-x.a)
	p.Zoom = spot{percent(-x.a / w), percent(1 / w)}
	b := &plotter{plotView: p, x: x, t: d.t, id: d.id, y: axisHeight}
	b.faults()
	for _, l := range d.t.Lanes {
		b.lane(l)
	}
	b.overlaps()
	for i, k := range d.t.Keys {
		b.key(k, i == 0)
	}
	if len(d.t.Keys) == 0 {
		b.roles(b.y)
	}
	b.stock()
	b.marks()
	p.Height = b.y + 6
	p.BandHeight = p.Height - 20
	p.Alt = fmt.Sprintf("%s, from 0 to %s", plural(len(d.t.Lanes), "instance"), timeOf(d.t.To))
	p.OverviewAlt = fmt.Sprintf("The whole run, %s: what was left to sell, %s, %s", timeOf(d.t.To),
		plural(len(d.t.Faults), "fault"), plural(len(d.t.Harm()), "violation"))
	return p
}

// plotter stacks lanes from the top down.
type plotter struct {
	*plotView
	x  axis
	t  *timeline.Timeline
	id string
	y  int
}

// begin starts a lane under a name.
func (b *plotter) begin(name, class string) {
	b.Rules = append(b.Rules, b.y)
	b.y += 4
	b.Labels = append(b.Labels, labelView{Y: b.y + 12, Text: name, Class: class})
}

func (b *plotter) event(n int64) string { return fmt.Sprintf("%se%d", b.id, n) }

// faults have a lane of their own, and a band across all others.
func (b *plotter) faults() {
	if len(b.t.Faults) == 0 {
		return
	}
	b.begin("faults", "strong")
	var ends []time.Duration
	for _, f := range b.t.Faults {
		row := 0
		for row < len(ends) && ends[row] > f.From {
			row++
		}
		if row == maxFaultRows {
			row--
		} else if row == len(ends) {
			ends = append(ends, 0)
		}
		ends[row] = max(ends[row], f.To)
		b.Faults = append(b.Faults, b.fault(f, b.y+row*rowHeight))
	}
	b.y += max(1, len(ends))*rowHeight + laneGap
	b.bands()
}

const maxFaultRows = 4

// bands joins the faults that go on at the same time. They are in order of time.
func (b *plotter) bands() {
	var from, to time.Duration
	for i, f := range b.t.Faults {
		if i > 0 && f.From <= to {
			to = max(to, f.To)
			continue
		}
		if i > 0 {
			b.Bands = append(b.Bands, b.x.place(from, to))
		}
		from, to = f.From, f.To
	}
	b.Bands = append(b.Bands, b.x.place(from, to))
}

func (b *plotter) fault(f timeline.Fault, y int) barView {
	at := b.x.place(f.From, f.To)
	class, what := "faultbar", tidy(f.Name)
	if f.Failed {
		class, what = "faultbar failed", "failed: "+tidy(f.Name)
	}
	return barView{
		spot: at, Target: b.event(f.Event),
		Title: fmt.Sprintf("fault %s, %s to %s: %s", what, timeOf(f.From), timeOf(f.To), tidy(f.Text)),
		Box:   b.box(f.From, f.To, y, boxHeight, 12, class, what),
	}
}

func (b *plotter) overlaps() {
	if len(b.t.Overlaps) == 0 {
		return
	}
	b.begin("two inside", "strong")
	for _, o := range b.t.Overlaps {
		at := b.x.place(o.From, o.To)
		v := barView{spot: at, Target: b.event(o.Event), Title: tidy(o.Text)}
		if o.Many > 0 {
			v.Title = fmt.Sprintf("%s within %s from %s", plural(o.Many, "overlap"), lengthOf(o.Len()), timeOf(o.From))
		}
		v.Box = boxView{spot: at, Y: b.y, H: boxHeight, Class: "overlapbar"}
		b.Overlaps = append(b.Overlaps, v)
	}
	b.OverlapAlt = "Several inside at once: " + plural(len(b.t.Overlaps), "time")
	b.y += rowHeight + laneGap
}

// marks are the violations: ticks over the whole run, and the first one across
// everything.
func (b *plotter) marks() {
	for _, v := range b.t.Violations {
		b.Violations = append(b.Violations, tickMark{b.x.point(v.At), violationClass(v)})
	}
	if len(b.t.Violations) == 0 {
		return
	}
	v := b.t.Violations[0]
	for _, h := range b.t.Violations {
		if h.Kind != timeline.Withstood {
			v = h
			break
		}
	}
	first, focus := b.x.place(v.At, v.At), b.x.place(v.At, focusEnd(b.t, v))
	b.First, b.Focus = &first, &focus
}

// focusEnd is how long a violation lasts: the overlap that begins with it, or
// all of it.
func focusEnd(t *timeline.Timeline, v timeline.Violation) time.Duration {
	for _, o := range t.Overlaps {
		if o.From == v.At {
			return o.To
		}
	}
	return max(v.At, v.To)
}

func violationClass(v timeline.Violation) string {
	if v.Kind == timeline.Withstood {
		return "calm"
	}
	return ""
}

// stockView is the stock as a step line, beside what was really left.
type stockView struct {
	Y, H, Zero   int
	Scale        int
	Path, Really string
	Alt          string
	Marks        []pointView
}

type pointView struct {
	X, Title string
	Y        int
	Event    int64
}

// stockScale is the width of the stock's own coordinates.
const stockScale = 1_000_000

func (b *plotter) stock() {
	initial := b.t.Plan.Stock
	low, high := 0, max(1, initial)
	for _, l := range b.t.Stock {
		low, high = min(low, l.Really, l.Stock), max(high, l.Stock)
	}
	b.Rules = append(b.Rules, b.y)
	b.y += 12
	y := func(units int) int {
		return int(float64(high-units)/float64(high-low)*(stockHeight-4)) + 2
	}
	s := &stockView{Y: b.y, H: stockHeight, Scale: stockScale, Zero: b.y + y(0)}
	s.Path, s.Really = b.steps(y, stockScale)
	s.Alt = fmt.Sprintf("Stock: %d at the start, %s; zero is marked", initial, b.stockEnd())
	for _, l := range b.t.Stock {
		if l.Stale {
			s.Marks = append(s.Marks, pointView{
				X: b.x.point(l.At), Y: b.y + y(l.Stock), Event: l.Event,
				Title: fmt.Sprintf("%s: sold over a stock that it had not read; %d written, really %d left", timeOf(l.At), l.Stock, l.Really),
			})
		}
	}
	b.Stock = s
	b.stockLabels(y, low, high)
	b.OverviewPath = b.overview(low, high)
	b.y += stockHeight + 8
}

func (b *plotter) stockEnd() string {
	if len(b.t.Stock) == 0 {
		return "nothing was sold"
	}
	last := b.t.Stock[len(b.t.Stock)-1]
	return fmt.Sprintf("%d written at the end, really %d left", last.Stock, last.Really)
}

// stockLabels name the levels, where they don't get into each other's way.
func (b *plotter) stockLabels(y func(int) int, low, high int) {
	b.Labels = append(b.Labels, labelView{Y: b.y + 4, Text: "stock", Class: "strong"})
	const right = "y"
	taken := []int{}
	for _, units := range []int{0, high, low} {
		at := b.y + y(units) + 4
		clash := false
		for _, t := range taken {
			clash = clash || at-t < 11 && t-at < 11
		}
		if !clash {
			taken = append(taken, at)
			b.Labels = append(b.Labels, labelView{Y: at, Text: fmt.Sprint(units), Class: right})
		}
	}
}

// steps are the two step lines, in a coordinate system that is so wide.
func (b *plotter) steps(y func(int) int, width int) (stock, really string) {
	var s, r strings.Builder
	x := func(t time.Duration) int { return int(b.x.of(t) * float64(width)) }
	start := y(b.t.Plan.Stock)
	fmt.Fprintf(&s, "M0 %d", start)
	fmt.Fprintf(&r, "M0 %d", start)
	for _, l := range b.t.Stock {
		fmt.Fprintf(&s, "H%dV%d", x(l.At), y(l.Stock))
		fmt.Fprintf(&r, "H%dV%d", x(l.At), y(l.Really))
	}
	end := x(b.t.To)
	fmt.Fprintf(&s, "H%d", end)
	fmt.Fprintf(&r, "H%d", end)
	return s.String(), r.String()
}

// overview is what was really left over the whole run.
func (b *plotter) overview(low, high int) string {
	y := func(units int) int { return 2 + int(float64(high-units)/float64(high-low)*24) }
	_, really := b.steps(y, 1000)
	return really
}
