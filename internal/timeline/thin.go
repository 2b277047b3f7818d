package timeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/oversell/oversell/history"
)

// Keep is how much time around a violation stays whole.
const Keep = 2 * time.Second

// Budget bounds what a timeline may hold after thinning.
type Budget struct {
	Events     int // rows of the table of events
	Shapes     int // holds, grants, overlaps and levels
	Violations int // told in full
}

// Ordinary is the budget of a page about one run.
func Ordinary() Budget { return Budget{Events: 6000, Shapes: 9000, Violations: 200} }

// Share is the budget of one of n runs on a page.
func (b Budget) Share(n int) Budget {
	n = max(n, 1)
	return Budget{Events: b.Events / n, Shapes: max(400, b.Shapes/n), Violations: max(10, b.Violations/n)}
}

// Thinning says what was left out.
type Thinning struct {
	Events, OfEvents         int
	Shapes, OfShapes         int
	Violations, OfViolations int
	Whole                    []Span // within which nothing is left out
	WholeViolations          int    // around how many violations that is
}

// Thin returns t within a budget: everything within two seconds of a violation
// stays, for as many of them as the budget allows, and what is beside is merged
// or sampled. A timeline within the budget stays as it is.
func (t *Timeline) Thin(b Budget) *Timeline {
	shapes := t.shapes()
	if len(t.Events) <= b.Events && shapes <= b.Shapes && len(t.Violations) <= b.Violations {
		return t
	}
	out := *t
	th := &Thinning{OfEvents: len(t.Events), OfShapes: shapes, OfViolations: len(t.Violations)}
	out.Thinned = th
	th.Whole, th.WholeViolations = t.whole(b)
	out.Violations = t.Violations[:min(len(t.Violations), b.Violations)]
	out.Events = t.thinEvents(b, th.Whole, out.Violations)
	if shapes > b.Shapes {
		out.thinShapes(t, b, th.Whole)
	}
	th.Events, th.Shapes, th.Violations = len(out.Events), out.shapes(), len(out.Violations)
	return &out
}

func (t *Timeline) shapes() int {
	n := len(t.Overlaps) + len(t.Stock)
	for _, l := range t.Lanes {
		n += len(l.Holds)
	}
	for _, k := range t.Keys {
		n += len(k.Grants)
	}
	return n
}

// whole are the spans around violations, in their order, that fit into half of
// the budget; at least the first violation's own, if need be without its
// surroundings.
func (t *Timeline) whole(b Budget) (spans []Span, violations int) {
	events := make([]time.Duration, len(t.Events))
	for i, e := range t.Events {
		events[i] = e.At
	}
	shapes := t.starts()
	slices.Sort(events)
	slices.Sort(shapes)
	fits := func(spans []Span) bool {
		return len(t.Events) <= b.Events || countIn(events, spans) <= b.Events*3/4
	}
	if len(shapes) > b.Shapes {
		rows := fits
		fits = func(spans []Span) bool { return rows(spans) && countIn(shapes, spans) <= b.Shapes*3/4 }
	}
	for i, v := range t.Violations {
		s := Span{max(0, v.From-Keep), v.To + Keep}
		more := join(spans, s)
		for margin := Keep; i == 0 && !fits(more) && margin > time.Millisecond; {
			margin /= 2
			more = join(spans, Span{max(0, v.From-margin), v.To + margin})
		}
		if i > 0 && !fits(more) {
			break
		}
		spans, violations = more, i+1
	}
	return spans, violations
}

// starts are the times at which shapes begin.
func (t *Timeline) starts() []time.Duration {
	at := make([]time.Duration, 0, t.shapes())
	for _, o := range t.Overlaps {
		at = append(at, o.From)
	}
	for _, l := range t.Stock {
		at = append(at, l.At)
	}
	for _, l := range t.Lanes {
		for _, h := range l.Holds {
			at = append(at, h.Whole().From)
		}
	}
	for _, k := range t.Keys {
		for _, g := range k.Grants {
			at = append(at, g.From)
		}
	}
	return at
}

// countIn counts the sorted times that lie in spans.
func countIn(at []time.Duration, spans []Span) int {
	n := 0
	for _, s := range spans {
		from, _ := slices.BinarySearch(at, s.From)
		to, _ := slices.BinarySearch(at, s.To+1)
		n += to - from
	}
	return n
}

// join adds a span to a sorted list of spans that don't meet.
func join(spans []Span, s Span) []Span {
	var out []Span
	for _, o := range spans {
		if o.Meets(s) {
			s = Span{min(s.From, o.From), max(s.To, o.To)}
		} else {
			out = append(out, o)
		}
	}
	out = append(out, s)
	slices.SortFunc(out, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	return out
}

func within(spans []Span, s Span) bool {
	return slices.ContainsFunc(spans, func(w Span) bool { return w.Meets(s) })
}

// milestones are kinds of which every event stays.
var milestones = []history.Kind{
	history.RunStarted, history.LoadStarted, history.LoadEnded, history.RunEnded, history.RunFailed,
	history.FaultInjected, history.FaultFailed, history.FaultHealed, history.ServerRole,
	history.InstanceStarted, history.InstanceExited, history.StockCounted, history.MachineStalled,
}

// thinEvents keeps the events of whole spans and of violations, and of the
// others the milestones and as many as fit, evenly spread.
func (t *Timeline) thinEvents(b Budget, whole []Span, told []Violation) []Row {
	if len(t.Events) <= b.Events {
		return t.Events
	}
	proof := make(map[int64]bool)
	for _, v := range told {
		for _, l := range v.Lines {
			proof[l.Event] = true
		}
	}
	must, may := 0, 0
	keep := make([]int8, len(t.Events)) // 2: must, 1: may
	for i, e := range t.Events {
		switch {
		case proof[e.N], within(whole, Span{e.At, e.At}), slices.Contains(milestones, e.Kind):
			keep[i] = 2
			must++
		default:
			keep[i] = 1
			may++
		}
	}
	every := 1 + may/max(1, b.Events-must)
	var out []Row
	nth := 0
	for i, e := range t.Events {
		if keep[i] == 1 {
			nth++
			if nth%every != 0 {
				continue
			}
		}
		if len(out) >= b.Events && !proof[e.N] {
			continue // so many milestones that they are none
		}
		out = append(out, e)
	}
	return out
}
