package checks

import (
	"cmp"
	"slices"
	"time"

	"github.com/oversell/oversell/history"
)

// gap is a time in which nobody acquired although somebody wanted to buy.
type gap struct {
	From, Until time.Duration  // from the acquisition before it to the one after it
	Waited      time.Duration  // how much of it somebody waited for
	Possible    time.Duration  // how much of that nobody was inside
	Before      *history.Event // the acquisition before it, nil at the start of the load
	After       *history.Event // the acquisition that ended it, nil when none did
}

// interval is a time from From on and until just before Until.
type interval struct{ From, Until time.Duration }

// change is a moment at which it changes whether somebody waits, or could buy.
type change struct {
	at     time.Duration
	inside int            // holders that come or go
	excuse int            // excuses that begin or end
	event  *history.Event // what was recorded then, nil for an interval's end
	cut    bool           // a new piece begins here in any case
}

// count adds a piece of time to the gap, as things stood in it.
func (g *gap) count(w *watch, d time.Duration) {
	if !w.waiting() {
		return
	}
	g.Waited += d
	if w.inside == 0 {
		g.Possible += d
	}
}

// gaps cuts the load at every acquisition, and at the cuts, and measures in
// each piece for how long somebody waited: a purchase was wanted, stock was
// left, and no excuse applied; and for how long of that it was possible, since
// nobody was inside.
//
// Only what events say moves the count. A buyer wants from asking until it has
// acquired, and again between two attempts, until it is done, sold out or dead.
// The stock is what was last read or written.
func (t *Timeline) gaps(excuses []interval, cuts ...*history.Event) []gap {
	changes := t.changes(excuses, cuts)
	w := watch{stock: t.Plan.Stock, wants: make(map[int]map[int]bool)}
	var gaps []gap
	g := gap{From: t.Start}
	now := t.Start
	for _, c := range changes {
		if at := min(max(c.at, t.Start), t.End); at > now {
			g.count(&w, at-now)
			now = at
		}
		w.apply(c)
		e := c.event
		if e == nil || !c.cut && e.Kind != history.Acquired || e.At < t.Start || e.At >= t.End {
			continue
		}
		g.Until, g.After = e.At, e
		gaps = append(gaps, g)
		g = gap{From: e.At, Before: e}
	}
	g.count(&w, max(t.End-now, 0))
	g.Until = t.End
	return append(gaps, g)
}

// changes are all moments that matter, in order of time.
func (t *Timeline) changes(excuses []interval, cuts []*history.Event) []change {
	var cs []change
	for _, e := range t.Events {
		switch e.Kind {
		case history.AcquireStart, history.Acquired, history.Released, history.ReleaseNotHeld, history.ReleaseUnknown,
			history.SoldOut, history.BuyerDone, history.InstanceExited, history.Begun, history.Committed:
			cs = append(cs, change{at: e.At, event: e})
		}
	}
	for _, e := range cuts {
		cs = append(cs, change{at: e.At, event: e, cut: true})
	}
	for _, p := range t.Purchases {
		if p.Held() {
			cs = append(cs, change{at: p.From, inside: 1}, change{at: p.Until, inside: -1})
		}
	}
	for _, x := range excuses {
		if x.Until > x.From {
			cs = append(cs, change{at: x.From, excuse: 1}, change{at: x.Until, excuse: -1})
		}
	}
	slices.SortStableFunc(cs, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	return cs
}

// watch follows whether a purchase is wanted and possible.
type watch struct {
	stock   int
	inside  int
	excuses int
	wants   map[int]map[int]bool // by instance, then buyer; nil when the instance is dead
	wanting int                  // how many of them want
}

func (w *watch) waiting() bool { return w.wanting > 0 && w.stock > 0 && w.excuses == 0 }

func (w *watch) apply(c change) {
	w.inside += c.inside
	w.excuses += c.excuse
	e := c.event
	if e == nil {
		return
	}
	switch e.Kind {
	case history.AcquireStart, history.Released, history.ReleaseNotHeld, history.ReleaseUnknown:
		w.want(e.Instance, e.Buyer)
	case history.Acquired, history.SoldOut, history.BuyerDone:
		if w.wants[e.Instance][e.Buyer] {
			delete(w.wants[e.Instance], e.Buyer)
			w.wanting--
		}
	case history.Begun, history.Committed:
		w.stock = e.Units
	case history.InstanceExited:
		w.wanting -= len(w.wants[e.Instance])
		w.wants[e.Instance] = nil
	}
}

func (w *watch) want(instance, buyer int) {
	buyers, known := w.wants[instance]
	if !known {
		buyers = make(map[int]bool)
		w.wants[instance] = buyers
	}
	if buyers != nil && !buyers[buyer] {
		buyers[buyer] = true
		w.wanting++
	}
}
