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
// Links join the two by instance and time, first come, first served. A grant
// whose reply never arrived stays without a purchase.

// linkGrants gives every grant its purchase.
func (t *Timeline) linkGrants() {
	free := make(map[int]*queue)
	for _, g := range t.Grants {
		q := free[g.Event.Instance]
		if q == nil {
			q = &queue{}
			free[g.Event.Instance] = q
		}
		q.grants = append(q.grants, g)
	}
	// Whoever has certainly acquired has a grant, so those choose first; a
	// grant that is left may belong to an acquire whose outcome is unknown.
	for _, answer := range []history.Kind{history.Acquired, history.AcquireUnknown} {
		for _, p := range t.answered(answer) {
			if q := free[p.Instance]; q != nil {
				q.take(p)
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

// take links p with the first free grant between its question and its answer,
// and with the grants of the same value on the other servers of a quorum.
func (q *queue) take(p *Purchase) {
	var from time.Duration
	if p.Asked != nil {
		from = p.Asked.At
	}
	i := q.free(sort.Search(len(q.grants), func(i int) bool { return q.grants[i].Event.At >= from }))
	var servers []string
	for ; i < len(q.grants) && q.grants[i].Event.At <= p.Answer.At; i = q.free(i + 1) {
		g := q.grants[i]
		if p.Grant == nil {
			p.Grant = g
		} else if g.Event.Value != p.Grant.Event.Value || g.Event.Key != p.Grant.Event.Key || slices.Contains(servers, g.Event.Server) {
			break // the next purchase's
		}
		servers = append(servers, g.Event.Server)
		g.Purchase = p
		q.next[i] = i + 1
	}
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
