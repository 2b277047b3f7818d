package checks

import (
	"slices"
	"strings"

	"github.com/oversell/oversell/history"
)

// Trace explains one unit too many, from the order back to the fault.
type Trace struct {
	Unit  int // which of the units too many, from 1
	Order int // the order that it was sold as, from 1; 0 when it is still on the shelf
	Link
}

// Link is one sale that a stale commit didn't know of, and how it came to that.
type Link struct {
	Commit  Commit    // wrote an old stock over a newer one
	Seller  *Purchase // who sold after the commit's reading and before its writing; nil when unknown
	Overlap *Overlap  // the time in which both were inside; nil when none was definite
	// Losses say why the one who was inside first no longer had the key. When a
	// release of somebody else removed it, the next loss says why that one had
	// no key of its own any more, and so on; the last one is the root.
	Losses    []Lost
	Ungranted *Purchase      // who of the two believed to hold what no server had granted it, when nothing was lost
	Fault     *history.Event // fault.injected, nil when no fault is behind the root
	Events    []int64        // all of it
}

// Lost is a grant that ended before its holder was through.
type Lost struct {
	Holder *Purchase
	Grant  *Grant
	KeyLoss
}

// Cause is why the first holder had lost its key.
func (l Link) Cause() Cause {
	switch {
	case len(l.Losses) > 0:
		return l.Losses[0].Cause
	case l.Ungranted != nil:
		return NeverGranted
	default:
		return Unexplained
	}
}

// traces finds them once.
func (t *Timeline) traces() []Trace {
	if t.found == nil {
		found := t.findTraces()
		t.found = &found
	}
	return *t.found
}

// findTraces gives the i-th unit too many to the i-th unit that a stale commit
// brought back: each such unit becomes one sale beyond the stock, or stays on
// the shelf. Of several units that one commit brought back, each stands for
// one sale that the commit didn't know of.
func (t *Timeline) findTraces() []Trace {
	var found []Trace
	beyond := len(t.Commits) - t.Plan.Stock
	ungranted := t.ungranted()
	for _, b := range t.broughtBack() {
		sellers := t.sellers(b.commit)
		for k := range b.units {
			if len(found) == len(t.Commits) {
				return found // a stock out of nowhere; no more units can have been sold
			}
			var seller *Purchase
			if n := len(sellers); n > 0 {
				seller = sellers[min(k, n-1)]
			}
			tr := Trace{Unit: len(found) + 1, Link: t.link(t.Commits[b.commit], seller, ungranted)}
			if tr.Unit <= beyond {
				tr.Order = t.Plan.Stock + tr.Unit
			}
			found = append(found, tr)
		}
	}
	return found
}

// maxBetween is how many commits may lie between a reading and its writing.
const maxBetween = 1000

// sellers are those who sold between the reading and the writing of a commit,
// in commit order.
func (t *Timeline) sellers(i int) []*Purchase {
	p := t.Commits[i].Purchase
	if p == nil {
		return nil
	}
	var found []*Purchase
	for j := i - 1; j >= max(0, i-maxBetween); j-- {
		c := t.Commits[j]
		// From here back, everything was there when the stock was read.
		if c.After == t.Commits[i].Read || p.Asked != nil && c.At < p.Asked.At {
			break
		}
		if c.Purchase != nil && c.Purchase != p {
			found = append(found, c.Purchase)
		}
	}
	slices.Reverse(found)
	return found
}

// link explains how a stale commit came to miss a sale.
func (t *Timeline) link(c Commit, seller *Purchase, ungranted []*Purchase) Link {
	l := Link{Commit: c, Seller: seller}
	if c.Purchase == nil {
		return l
	}
	first := c.Purchase
	if o, ok := overlapOf(c.Purchase, seller); ok {
		l.Overlap = &o
	}
	if seller != nil && grantedBefore(seller, first) {
		first = seller
	}
	l.Losses = losses(first)
	if n := len(l.Losses); n > 0 {
		l.Fault = t.faultBehind(l.Losses[n-1])
	} else if i := slices.IndexFunc(ungranted, func(p *Purchase) bool { return p == c.Purchase || p == seller }); i >= 0 {
		l.Ungranted = ungranted[i]
	}
	l.Events = l.events()
	return l
}

// grantedBefore reports whether the server granted the key to a before b. Who
// heard of it first doesn't matter, if the wire saw both.
func grantedBefore(a, b *Purchase) bool {
	if a.Hold != nil && b.Hold != nil {
		return a.Hold.At() < b.Hold.At()
	}
	return a.From < b.From
}

// maxLosses bounds a chain of foreign releases. One is the incident's.
const maxLosses = 4

// losses follows a lost key to the root of it.
func losses(p *Purchase) []Lost {
	var found []Lost
	for p != nil && p.Hold != nil && len(found) < maxLosses {
		g := p.Hold.Decisive()
		if g == nil || g.Loss.Cause == ReleasedByOwn {
			break
		}
		found = append(found, Lost{Holder: p, Grant: g, KeyLoss: g.Loss})
		if g.Loss.Cause != DeletedByOther || g.Loss.By == p {
			break
		}
		p = g.Loss.By
	}
	return found
}

// faultBehind is the fault that explains a loss: the one that took the key or
// killed the server, or else one done to that very purchase, or to the holder's
// instance while the purchase was under way with it; of a key that a release without a known
// sender removed, the one done to that release. It is nil when the key was lost
// without one.
func (t *Timeline) faultBehind(l Lost) *history.Event {
	if l.Cause == LostData {
		return l.Fault
	}
	var best *history.Event
	for _, f := range t.Faults {
		switch {
		case l.Cause == DeletedByOther && l.By == nil:
			if f.Purchase == "" && f.Instance == l.ByInst && f.At >= l.At && f.At <= l.At+t.Plan.TTL && best == nil {
				best = f // a fault is stamped when its act is over
			}
		case l.Server != "":
			if best == nil || nearer(f, best, l) {
				best = f
			}
		case f.Purchase == l.Holder.ID:
			return f
		case f.Purchase == "" && f.Instance == l.Holder.Instance && l.Grant.Event.At <= f.At && !l.Holder.overBy(f.At):
			best = f
		}
	}
	return best
}

// nearer reports whether fault a explains the death of a server better than b
// does. A fault is stamped when its act is over, so the one that killed the
// server comes after the death, and its proof names the server; else the one
// that was closest in time will do.
func nearer(a, b *history.Event, l Lost) bool {
	death := l.At
	if l.Event != nil {
		death = l.Event.At
	}
	killed := func(f *history.Event) bool { return f.At >= death && strings.Contains(f.Text, l.Server) }
	if killed(a) != killed(b) {
		return killed(a)
	}
	return (a.At - death).Abs() < (b.At - death).Abs()
}

// events numbers everything that the link rests on, in the order of the file.
func (l Link) events() []int64 {
	var ns []int64
	for _, p := range []*Purchase{l.Commit.Purchase, l.Seller} {
		if p == nil {
			continue
		}
		ns = append(ns, numbers(p.Answer, p.Begun, p.Commit, p.Order)...)
		if p.Hold != nil {
			ns = append(ns, p.Hold.events()...)
		}
	}
	for _, lost := range l.Losses {
		ns = append(ns, numbers(lost.Grant.Event, lost.Event, lost.Holder.CallStart, lost.Holder.CallEnd)...)
	}
	ns = append(ns, numbers(l.Fault)...)
	slices.Sort(ns)
	return slices.Compact(ns)
}
