package checks

import (
	"cmp"
	"slices"
	"time"

	"github.com/oversell/oversell/history"
)

// whose tells which purchases can be behind a key's value. It says nothing
// where it can't be certain.
type whose struct {
	t     *Timeline
	holds map[owned]*Hold // by value; nil for one that was granted more than once
	by    map[int][]*Purchase
	known map[*Hold][]*Purchase
}

func (t *Timeline) whose() *whose {
	w := &whose{t: t, holds: t.byValue(), by: make(map[int][]*Purchase), known: make(map[*Hold][]*Purchase)}
	for _, p := range t.Purchases {
		if p.Asked != nil {
			w.by[p.Instance] = append(w.by[p.Instance], p)
		}
	}
	for _, ps := range w.by {
		slices.SortStableFunc(ps, func(a, b *Purchase) int { return cmp.Compare(a.Asked.At, b.Asked.At) })
	}
	return w
}

// byValue maps every value that was granted only once in the whole run to what
// it was granted for.
func (t *Timeline) byValue() map[owned]*Hold {
	holds := make(map[owned]*Hold)
	instances := make(map[string]int)
	shared := make(map[string]bool)
	for _, h := range t.Holds {
		v := h.Grants[0].Event.Value
		k := owned{h.Instance(), v}
		_, again := holds[k]
		if i, taken := instances[v]; again || taken && i != h.Instance() || v == "" {
			shared[v] = true
		}
		holds[k], instances[v] = h, h.Instance()
	}
	for k := range holds {
		if shared[k.value] {
			holds[k] = nil
		}
	}
	return holds
}

// owners are the purchases that a hold can belong to: the one that is known for
// sure, else all of the instance that were asking when it was granted.
func (w *whose) owners(h *Hold) []*Purchase {
	if h.sure {
		return []*Purchase{h.Purchase}
	}
	if ps, ok := w.known[h]; ok {
		return ps
	}
	at := h.Grants[0].Event.At
	var ps []*Purchase
	for _, p := range w.by[h.Instance()] {
		asking := p.Asked.At <= at && (p.Answer == nil || p.Answer.At >= at)
		elsewhere := p.Hold != nil && p.Hold != h && p.Hold.sure
		if asking && !elsewhere {
			ps = append(ps, p)
		}
	}
	w.known[h] = ps
	return ps
}

// over is when a purchase had come to its end; ok is false while it hasn't.
func (p *Purchase) over() (at time.Duration, ok bool) {
	switch {
	case p.Release != nil:
		return p.Release.At, true
	case p.Answered(history.AcquireRefused), p.Answered(history.AcquireUnknown):
		return p.Answer.At, true
	case p.Exit != nil:
		return p.Exit.At, true
	}
	return 0, false
}

// overBy reports whether a purchase had come to its end by a time.
func (p *Purchase) overBy(at time.Duration) bool {
	end, ok := p.over()
	return ok && end < at
}

// lastOver is when the last of some purchases was over; ok is false when one
// isn't, or when there are none.
func lastOver(ps []*Purchase) (at time.Duration, ok bool) {
	for _, p := range ps {
		end, over := p.over()
		if !over {
			return 0, false
		}
		at = max(at, end)
	}
	return at, len(ps) > 0
}

// ended is when the last purchase was over that can be behind a command; known
// is false when one may still be under way.
func (w *whose) ended(e *history.Event) (at time.Duration, known bool) {
	if e.Value != "" {
		h := w.holds[owned{e.Instance, e.Value}]
		if h == nil {
			return 0, false
		}
		return lastOver(w.owners(h))
	}
	// Whoever asked last is the likeliest to be under way.
	for _, p := range slices.Backward(w.by[e.Instance]) {
		if p.Asked.At > sentAt(e) {
			continue
		}
		end, over := p.over()
		if !over || end >= sentAt(e) {
			return 0, false
		}
		at, known = max(at, end), true
	}
	return at, known
}

// nobodys reports whether all who can be behind a key that somebody looked at
// were through by then.
func (w *whose) nobodys(look *history.Event) bool {
	ps := w.t.Purchases
	if g := w.t.holderOf(look); g != nil {
		if h := w.holds[owned{g.Event.Instance, g.Event.Value}]; h != nil {
			ps = w.owners(h)
		}
	}
	at, ok := lastOver(ps)
	return ok && at <= look.At
}
