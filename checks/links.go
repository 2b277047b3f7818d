package checks

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/oversell/oversell/history"
)

// The wire doesn't know purchases: it sees an instance take a key and, some
// microseconds later, the instance says which of its purchases has acquired.
// Links join the two by instance, value and time. A grant whose reply never
// arrived stays without a purchase; it must not push all later ones of its
// instance along by one.

// linkGrants gives every grant its purchase.
func (t *Timeline) linkGrants() {
	queues := make(map[int]*queue)
	for _, g := range t.Grants {
		q := queues[g.Event.Instance]
		if q == nil {
			q = &queue{}
			queues[g.Event.Instance] = q
		}
		q.grants = append(q.grants, g)
	}
	t.linkByValue()
	// Whoever has certainly acquired has a grant, so those choose first; a
	// grant that is left may belong to an acquire whose outcome is unknown.
	for _, answer := range []history.Kind{history.Acquired, history.AcquireUnknown} {
		for _, p := range t.answered(answer) {
			if q := queues[p.Instance]; q != nil {
				q.take(p, t.Plan.TTL)
			}
		}
	}
}

// linkByValue links those who were the only ones of their instance to be
// releasing when a release with their key's value was answered.
func (t *Timeline) linkByValue() {
	grants := make(map[owned]*Grant) // nil for a value that was granted more than once
	for _, g := range t.Grants {
		k := owned{g.Event.Instance, g.Event.Value}
		if _, taken := grants[k]; taken {
			grants[k] = nil
			continue
		}
		grants[k] = g
	}
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
			g := grants[owned{e.Instance, e.Value}]
			if g == nil || e.Value == "" || g.Purchase != nil || len(now) != 1 {
				continue
			}
			for p := range now {
				if p.Grant == nil && p.Answered(history.Acquired) && p.askedAt() <= g.Event.At && g.Event.At <= p.Answer.At {
					p.Grant, g.Purchase = g, p
				}
			}
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

// queue holds one instance's grants in order of time. next[i] leads to the
// first grant from i on that has no purchase yet, over as many steps as it
// takes; every walk shortens the path, so long queues stay cheap.
type queue struct {
	grants []*Grant
	next   []int
}

func (q *queue) free(i int) int {
	if q.next == nil {
		q.next = make([]int, len(q.grants)+1)
		for j := range q.next {
			q.next[j] = j
			if j < len(q.grants) && q.grants[j].Purchase != nil {
				q.next[j] = j + 1
			}
		}
	}
	root := i
	for q.next[root] != root {
		root = q.next[root]
	}
	for q.next[i] != root {
		q.next[i], i = root, q.next[i]
	}
	return root
}

// take links p with a free grant between its question and its answer, and with
// the grants of the same value on the other servers of a quorum. The first one
// that is younger than a TTL comes first: whoever was granted the key before
// hears of it before. An older one is taken only when there is no other, the
// latest of them: its key had run out before anybody heard of it.
func (q *queue) take(p *Purchase, ttl time.Duration) {
	from, until := p.askedAt(), p.Answer.At
	i := q.freeSince(max(from, until-ttl))
	if p.Answered(history.Acquired) && !q.fits(i, until) {
		for j := q.freeSince(from); q.fits(j, until); j = q.free(j + 1) {
			i = j
		}
	} else if !p.Answered(history.Acquired) {
		i = q.freeSince(from)
	}
	if p.Grant != nil || !q.fits(i, until) {
		return
	}
	p.Grant = q.grants[i]
	var servers []string
	for ; q.fits(i, until); i = q.free(i + 1) {
		g := q.grants[i]
		if g.Event.Value != p.Grant.Event.Value || g.Event.Key != p.Grant.Event.Key || slices.Contains(servers, g.Event.Server) {
			break // the next purchase's
		}
		servers = append(servers, g.Event.Server)
		g.Purchase = p
		q.next[i] = i + 1
	}
}

// freeSince is the first free grant since a time.
func (q *queue) freeSince(at time.Duration) int {
	return q.free(sort.Search(len(q.grants), func(i int) bool { return q.grants[i].Event.At >= at }))
}

// fits reports whether there is a grant i, and it came by a time.
func (q *queue) fits(i int, until time.Duration) bool {
	return i < len(q.grants) && q.grants[i].Event.At <= until
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
	for _, g := range t.Grants {
		k := owned{g.Event.Instance, g.Event.Value}
		if p, taken := owners[k]; taken && p != g.Purchase {
			owners[k] = nil // shared, such as a constant
			continue
		}
		owners[k] = g.Purchase
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
