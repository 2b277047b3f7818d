package checks

import (
	"cmp"
	"slices"
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/history"
)

// Hold is the key as one acquirer was granted it: one grant, or, on a quorum,
// the grants of one value by several servers. Only a majority of them is worth
// anything, since only that keeps everybody else from having one.
type Hold struct {
	Grants   []*Grant  // in order of time, one a server
	Purchase *Purchase // nil when it isn't known

	need int  // how many grants make it
	sure bool // the purchase is known by the value, and not only by the time
}

// Enough reports whether so many servers granted the key that it was held.
func (h *Hold) Enough() bool { return len(h.Grants) >= h.need }

// Instance is the instance to which the key was granted.
func (h *Hold) Instance() int { return h.Grants[0].Instance() }

// At is when enough servers had granted the key, or, of a hold that never was
// enough, when the last one did.
func (h *Hold) At() time.Duration { return h.Grants[min(h.need, len(h.Grants))-1].Event.At }

// HeldAt reports whether the key was still there on enough servers at a time.
func (h *Hold) HeldAt(at time.Duration) bool {
	n := 0
	for _, g := range h.Grants {
		if g.HeldAt(at) {
			n++
		}
	}
	return n >= h.need
}

// Decisive is the grant whose end left too few of them, nil when none did, or
// when there never were enough.
func (h *Hold) Decisive() *Grant {
	var ended []*Grant
	for _, g := range h.Grants {
		if g.Ended() {
			ended = append(ended, g)
		}
	}
	spare := len(h.Grants) - h.need
	if spare < 0 || len(ended) <= spare {
		return nil
	}
	slices.SortStableFunc(ended, func(a, b *Grant) int { return cmp.Compare(a.Loss.At, b.Loss.At) })
	return ended[spare]
}

// expiry is when too few keys are left by their TTLs alone; ok is false when
// that never comes.
func (h *Hold) expiry() (at time.Duration, ok bool) {
	var ends []time.Duration
	for _, g := range h.Grants {
		if g.Expires {
			ends = append(ends, g.Expiry)
		}
	}
	spare := len(h.Grants) - h.need
	if spare < 0 || len(ends) <= spare {
		return 0, false
	}
	slices.Sort(ends)
	return ends[spare], true
}

// lostOn names the servers on which the key was lost for the same reason as
// the decisive one, in the order in which that happened there.
func (h *Hold) lostOn(decisive *Grant) []string {
	var servers []string
	for _, g := range h.Grants {
		if g.Loss.Cause == decisive.Loss.Cause && g.Loss.At <= decisive.Loss.At {
			servers = append(servers, g.Event.Server)
		}
	}
	return servers
}

// majority is how many servers have to grant the key.
func (t *Timeline) majority() int {
	if t.Plan.Shape != string(cluster.Quorum) {
		return 1
	}
	masters := t.Plan.Masters
	if masters <= 0 {
		servers := make(map[string]bool)
		for _, g := range t.Grants {
			servers[g.Event.Server] = true
		}
		masters = len(servers)
	}
	return masters/2 + 1
}

// readHolds puts the grants together that belong to one attempt to acquire.
func (t *Timeline) readHolds() {
	need := t.majority()
	quorum := t.Plan.Shape == string(cluster.Quorum)
	type attempt struct {
		owned
		key string
	}
	open := make(map[attempt]*Hold)
	for _, g := range t.Grants {
		a := attempt{owned{g.Event.Instance, g.Event.Value}, g.Event.Key}
		h := open[a]
		if h == nil || !quorum || g.Event.Value == "" || h.on(g.Event.Server) != nil {
			h = &Hold{need: need}
			open[a] = h
			t.Holds = append(t.Holds, h)
		}
		h.Grants = append(h.Grants, g)
	}
}

// on is the grant of one server, or nil.
func (h *Hold) on(server string) *Grant {
	for _, g := range h.Grants {
		if g.Event.Server == server {
			return g
		}
	}
	return nil
}

// of gives the hold to a purchase.
func (h *Hold) of(p *Purchase) {
	h.Purchase, p.Hold, p.Grant = p, h, h.Grants[0]
	for _, g := range h.Grants {
		g.Purchase = p
	}
}

// events are the grants, as numbers of their events.
func (h *Hold) events() []int64 {
	var ns []int64
	for _, g := range h.Grants {
		ns = append(ns, numbers(g.Event)...)
	}
	return ns
}

// renewals is how often the key was renewed, on the server where that was most often.
func (h *Hold) renewals() int {
	most := 0
	for _, g := range h.Grants {
		most = max(most, g.Renewals)
	}
	return most
}

// deathsOfHolders are the deaths of instances that held the key just then, in
// order of time.
func (t *Timeline) deathsOfHolders() []*history.Event {
	var found []*history.Event
	for _, h := range t.Holds {
		if death := t.Death(h.Instance()); death != nil && h.HeldAt(death.At) {
			found = append(found, death)
		}
	}
	slices.SortFunc(found, func(a, b *history.Event) int { return cmp.Compare(a.N, b.N) })
	return slices.Compact(found)
}
