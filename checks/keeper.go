package checks

import (
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/history"
)

// lane is one place in which one key lives. The masters of a quorum are
// independent; everywhere else a key moves on with the role of the master.
type lane struct{ server, key string }

// laneState is who holds the key of a lane now.
type laneState struct {
	open *Grant // not known to have ended
	last *Grant // granted last, ended or not
	// overtaken were followed by another grant although nothing had removed
	// their key yet. Replies of different connections may be stamped in the
	// wrong order, so the release that explains it may still come.
	overtaken []*Grant
	// early removed a key although nobody held one as far as the stamps went:
	// the key of a grant that is stamped only after it. nil when there is none.
	early *history.Event
}

// maxOvertaken is how many grants may wait for a late stamp. One is usual.
const maxOvertaken = 8

// keeper walks over the wire's events and keeps the state of every lane.
type keeper struct {
	t      *Timeline
	lanes  map[lane]*laneState
	grants map[*history.Event]*Grant
	deaths map[string][]*history.Event // by server
	rises  map[string][]*history.Event // promotions, by server
	by     map[*history.Event]*Purchase
	slack  time.Duration
}

// readGrants finds out who held the key on the server when, and why each
// grant ended.
func (t *Timeline) readGrants() {
	k := &keeper{
		t:      t,
		lanes:  make(map[lane]*laneState),
		grants: make(map[*history.Event]*Grant),
		deaths: make(map[string][]*history.Event),
		rises:  make(map[string][]*history.Event),
		// A reply is stamped a little after the server acted, so an expiry that
		// is counted from the stamp comes out a little late.
		slack: t.Plan.TTL / 10,
	}
	for _, e := range t.Events {
		switch {
		case e.Kind == history.WireAcquired:
			g := &Grant{Event: e}
			k.grants[e] = g
			t.Grants = append(t.Grants, g)
		case e.Kind == history.ServerRole && e.Text == "promoted":
			k.rises[e.Server] = append(k.rises[e.Server], e)
		}
	}
	t.readHolds()
	t.linkHolds()
	k.by = t.linkReleases()
	for _, e := range t.Events {
		k.see(e)
	}
	for _, s := range k.lanes {
		k.finish(s.open)
	}
}

func (k *keeper) see(e *history.Event) {
	switch e.Kind {
	case history.WireAcquired:
		k.acquired(k.lane(e), k.grants[e])
	case history.WireExpire:
		if e.Done || e.Text == "1" || e.Text == "OK" {
			k.prolong(k.lane(e).open, e)
		}
	case history.WireRenewed:
		if g := k.lane(e).open; e.Done && g != nil && (e.Value == "" || e.Value == g.Event.Value) {
			g.Renewals++
			k.prolong(g, e)
		}
	case history.WireReleased:
		if e.Done {
			k.released(k.lane(e), e)
		}
	case history.KeyState:
		if e.TTL == -2 && e.Err == "" {
			k.gone(k.lane(e), e)
		}
	case history.ServerRole:
		if e.Text == "killed" {
			k.deaths[e.Server] = append(k.deaths[e.Server], e)
		}
	}
}

func (k *keeper) lane(e *history.Event) *laneState {
	l := lane{key: e.Key}
	if k.t.Plan.Shape == string(cluster.Quorum) {
		l.server = e.Server
	}
	s := k.lanes[l]
	if s == nil {
		s = &laneState{}
		k.lanes[l] = s
	}
	return s
}

// acquired opens a grant, and says why the one before it is over.
func (k *keeper) acquired(s *laneState, g *Grant) {
	if s.last != nil {
		s.last.Next = g
	}
	if before := s.open; before != nil {
		before.Loss = k.loss(before, g.Event.Server, g.Event.At)
		if e := s.early; before.Loss.Cause == Unexplained && e != nil && k.early(e, before) {
			before.Loss = k.removal(before, e)
			before.Loss.At, s.early = before.Event.At, nil
		}
		if before.Loss.Cause == Unexplained {
			s.overtaken = append(s.overtaken, before)
			s.overtaken = s.overtaken[max(0, len(s.overtaken)-maxOvertaken):]
		}
	}
	s.open, s.last = g, g
	// SETNX is the one way to acquire that can't set an expiry.
	if g.Event.Command != "SETNX" {
		k.prolong(g, g.Event)
	}
}

// early reports whether a release, stamped before a grant and not long before,
// can have removed its key.
func (k *keeper) early(e *history.Event, g *Grant) bool {
	fits := e.Value == "" || e.Value == g.Event.Value
	return fits && e.At <= g.Event.At && e.At >= g.Event.At-k.slack
}

// prolong moves a grant's expiry: the key lives for one TTL from e on.
func (k *keeper) prolong(g *Grant, e *history.Event) {
	if g == nil {
		return
	}
	ttl := k.t.Plan.TTL
	if e.TTL > 0 {
		ttl = time.Duration(e.TTL) * time.Millisecond
	}
	g.Expires, g.Expiry, g.soonest, g.ttl = true, e.At+ttl, sentAt(e)+ttl, ttl
}

// finish ends a grant that nobody followed, when its server died or its TTL
// was over before the history was.
func (k *keeper) finish(g *Grant) {
	if g == nil {
		return
	}
	if death := k.death(g); death != nil && (!g.Expires || death.At < g.Expiry) {
		g.Loss = KeyLoss{Cause: LostWithServer, At: death.At, Server: g.Event.Server, Event: death}
		return
	}
	if g.Expires && g.Expiry <= k.t.last {
		g.Loss = k.expired(g, g.Expiry)
	}
}
