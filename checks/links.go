package checks

import (
	"cmp"
	"slices"
	"time"

	"github.com/oversell/oversell/history"
)

// The wire doesn't know purchases: it sees an instance take a key and, some
// microseconds later, the instance says which of its purchases has acquired.
// Links join the two by instance, value and time. A grant whose reply never
// arrived stays without a purchase; it must not push all later ones of its
// instance along by one.

// linkHolds gives every hold its purchase. One that never was enough belongs to
// nobody: its acquirer didn't get the lock by it.
func (t *Timeline) linkHolds() {
	t.linkByValue()
	queues := t.unowned()
	t.linkTheOnly(queues)
	// Whoever has certainly acquired has a hold, so those choose first; one that
	// is left may belong to an acquire whose outcome is unknown.
	for _, answer := range []history.Kind{history.Acquired, history.AcquireUnknown} {
		for _, p := range t.answered(answer) {
			if q := queues[p.Instance]; q != nil && p.Hold == nil {
				q.take(p, t.Plan.TTL)
			}
		}
	}
}

// unowned are each instance's holds that nobody is known to own.
func (t *Timeline) unowned() map[int]*queue {
	queues := make(map[int]*queue)
	for _, h := range t.Holds {
		if h.Enough() && h.Purchase == nil {
			if queues[h.Instance()] == nil {
				queues[h.Instance()] = &queue{}
			}
			queues[h.Instance()].holds = append(queues[h.Instance()].holds, h)
		}
	}
	for _, q := range queues {
		q.sort()
	}
	return queues
}

// maxRounds bounds how often linkTheOnly looks again.
const maxRounds = 8

// linkTheOnly links for sure those who acquired while only one hold was
// unowned that they can have; each one that is linked may leave only one for
// another.
func (t *Timeline) linkTheOnly(queues map[int]*queue) {
	acquired := t.answered(history.Acquired)
	for range maxRounds {
		found := false
		for _, p := range acquired {
			q := queues[p.Instance]
			if q == nil || p.Hold != nil {
				continue
			}
			i := q.since(p.askedAt())
			if q.fits(i, p.Answer.At) && !q.fits(q.free(i+1), p.Answer.At) {
				q.give(i, p)
				p.Hold.sure, found = true, true
			}
		}
		if !found {
			return
		}
	}
}

// linkByValue links for sure those who were the only ones of their instance to
// be releasing whenever a release was answered meanwhile, all with one value.
func (t *Timeline) linkByValue() {
	holds := t.byValue()
	found := make(map[*Purchase]*Hold) // nil for a purchase with several values
	releasing := make(map[int]map[*Purchase]bool)
	for _, e := range t.Events {
		now := releasing[e.Instance]
		switch e.Kind {
		case history.ReleaseStart:
			if now == nil {
				now = make(map[*Purchase]bool)
				releasing[e.Instance] = now
			}
			if p := t.byID[e.Purchase]; p != nil {
				now[p] = true
			}
		case history.Released, history.ReleaseNotHeld, history.ReleaseUnknown:
			delete(now, t.byID[e.Purchase])
		case history.WireReleased:
			h := holds[owned{e.Instance, e.Value}]
			for p := range now {
				if before, again := found[p]; h == nil || len(now) > 1 || again && before != h {
					found[p] = nil
				} else {
					found[p] = h
				}
			}
		}
	}
	for p, h := range found {
		if h == nil || !p.Answered(history.Acquired) || !h.Enough() || h.Purchase != nil {
			continue
		}
		if p.askedAt() <= h.Grants[0].Event.At && h.At() <= p.Answer.At {
			h.of(p)
			h.sure = true
		}
	}
}

// answered are the purchases whose acquire ended in that way, in that order.
func (t *Timeline) answered(k history.Kind) []*Purchase {
	var ps []*Purchase
	for _, p := range t.Purchases {
		if p.Answered(k) {
			ps = append(ps, p)
		}
	}
	slices.SortStableFunc(ps, func(a, b *Purchase) int { return cmp.Compare(a.Answer.At, b.Answer.At) })
	return ps
}

// slots are moments in order of time, each of which can be taken once. next[i]
// leads to the first free one from i on, over as many steps as it takes; every
// walk shortens the path, so long lists stay cheap.
type slots struct {
	at   []time.Duration
	next []int
}

// newSlots sorts the moments.
func newSlots(at []time.Duration) *slots {
	slices.Sort(at)
	s := &slots{at: at, next: make([]int, len(at)+1)}
	for i := range s.next {
		s.next[i] = i
	}
	return s
}

// free is the first free slot from i on; behind the last one when there is none.
func (s *slots) free(i int) int {
	root := i
	for s.next[root] != root {
		root = s.next[root]
	}
	for s.next[i] != root {
		s.next[i], i = root, s.next[i]
	}
	return root
}

// since is the first free slot since a time.
func (s *slots) since(at time.Duration) int {
	i, _ := slices.BinarySearch(s.at, at)
	return s.free(i)
}

// fits reports whether there is a slot i, and it comes by a time.
func (s *slots) fits(i int, until time.Duration) bool { return i < len(s.at) && s.at[i] <= until }

func (s *slots) take(i int) { s.next[i] = i + 1 }

// queue has an instance's holds that nobody is known to own, in order of time.
type queue struct {
	*slots
	holds []*Hold
}

func (q *queue) sort() {
	slices.SortStableFunc(q.holds, func(a, b *Hold) int { return cmp.Compare(a.At(), b.At()) })
	at := make([]time.Duration, len(q.holds))
	for i, h := range q.holds {
		at[i] = h.At()
	}
	q.slots = newSlots(at)
}

// take links p with a free hold between its question and its answer. The first
// one that is younger than a TTL comes first: whoever was granted the key
// before hears of it before. An older one is taken only when there is no other,
// the latest of them: its key had run out before anybody heard of it.
func (q *queue) take(p *Purchase, ttl time.Duration) {
	from, until := p.askedAt(), p.Answer.At
	i := q.since(max(from, until-ttl))
	if p.Answered(history.Acquired) && !q.fits(i, until) {
		for j := q.since(from); q.fits(j, until); j = q.free(j + 1) {
			i = j
		}
	} else if !p.Answered(history.Acquired) {
		i = q.since(from)
	}
	if q.fits(i, until) {
		q.give(i, p)
	}
}

// give links hold i with a purchase.
func (q *queue) give(i int, p *Purchase) {
	q.holds[i].of(p)
	q.slots.take(i)
}

// linkReleases says which purchase sent each release that the wire saw: by the
// value when only one purchase of the instance was ever granted it, else by
// the time within which the purchase was releasing.
func (t *Timeline) linkReleases() map[*history.Event]*Purchase {
	by := make(map[*history.Event]*Purchase)
	values := t.owners()
	windows := t.releasing()
	type place struct {
		instance int
		server   string
	}
	waiting := make(map[place]*releases)
	for _, e := range t.Events {
		if e.Kind != history.WireReleased {
			continue
		}
		if p := values[owned{e.Instance, e.Value}]; p != nil && e.Value != "" {
			by[e] = p
			continue
		}
		at := place{e.Instance, e.Server}
		if waiting[at] == nil {
			waiting[at] = &releases{coming: windows[e.Instance]}
		}
		if p := waiting[at].at(e.At, t.last); p != nil {
			by[e] = p
		}
	}
	return by
}

// owned is a value as one instance uses it.
type owned struct {
	instance int
	value    string
}

// owners maps every value that only one purchase was granted to that purchase.
func (t *Timeline) owners() map[owned]*Purchase {
	owners := make(map[owned]*Purchase)
	for _, h := range t.Holds {
		k := owned{h.Instance(), h.Grants[0].Event.Value}
		if p, taken := owners[k]; taken && p != h.Purchase {
			owners[k] = nil // shared, such as a constant
			continue
		}
		owners[k] = h.Purchase
	}
	return owners
}

// releasing lists each instance's purchases in the order in which they began
// to release.
func (t *Timeline) releasing() map[int][]*Purchase {
	m := make(map[int][]*Purchase)
	for _, p := range t.Purchases {
		if p.ReleaseStart != nil {
			m[p.Instance] = append(m[p.Instance], p)
		}
	}
	for _, ps := range m {
		slices.SortStableFunc(ps, func(a, b *Purchase) int { return cmp.Compare(a.ReleaseStart.At, b.ReleaseStart.At) })
	}
	return m
}

// releases hands out the purchases that are releasing, oldest first, as time goes on.
type releases struct{ coming []*Purchase }

// at is the purchase that was releasing at a time, each only once. Times must
// not go back. A release without an answer goes on until last.
func (r *releases) at(at, last time.Duration) *Purchase {
	for len(r.coming) > 0 && r.coming[0].ReleaseStart.At <= at {
		p := r.coming[0]
		r.coming = r.coming[1:]
		end := last
		if p.Release != nil {
			end = p.Release.At
		}
		if at <= end {
			return p
		}
	}
	return nil
}
