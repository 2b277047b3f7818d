package checks

import (
	"slices"
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/history"
)

// Cause says how a granted key went away on the server.
type Cause string

// The causes. StillThere means that the history shows no end.
const (
	StillThere     Cause = ""
	ReleasedByOwn  Cause = "released" // by the purchase that held it
	Expired        Cause = "expired"  // its TTL ended
	DeletedByOther Cause = "deleted"  // by a release of somebody else
	LostWithServer Cause = "server"   // it was on a server that died, and not on the next one
	Unexplained    Cause = "unknown"  // somebody else was granted it, and the history doesn't show why
)

// KeyLoss is the end of a grant on the server.
type KeyLoss struct {
	Cause  Cause
	At     time.Duration
	By     *Purchase      // whose release removed the key, when that is known
	ByInst int            // the instance that sent that release
	Server string         // the server that died, also when the key expired after that
	Event  *history.Event // the release, or the death of the server; nil for a mere expiry
}

// Grant is one time that a server granted the key.
type Grant struct {
	Event    *history.Event // wire.acquired
	Purchase *Purchase      // nil when it isn't known
	Expires  bool           // the key has a TTL, as far as the wire showed
	Expiry   time.Duration  // when its TTL ends; each renewal moves it
	Loss     KeyLoss
	Next     *Grant // who was granted the same key next, nil when nobody was

	ttl time.Duration // that the key was given last
}

// Instance is the instance to which the key was granted.
func (g *Grant) Instance() int { return g.Event.Instance }

// String names the holder.
func (g *Grant) String() string {
	if g.Purchase != nil {
		return g.Purchase.String()
	}
	return instanceName(g.Event.Instance)
}

// Ended reports whether the history shows an end of the grant.
func (g *Grant) Ended() bool { return g.Loss.Cause != StillThere }

// HeldAt reports whether the key was still there on the server at a time.
func (g *Grant) HeldAt(at time.Duration) bool {
	return g.Event.At <= at && (!g.Ended() || at < g.Loss.At)
}

// Foreign reports whether somebody else's release removed the key.
func (g *Grant) Foreign() bool { return g.Loss.Cause == DeletedByOther }

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
		// A reply is stamped a little after the server acted, so an expiry that
		// is counted from the stamp comes out a little late.
		slack: t.Plan.TTL / 10,
	}
	for _, e := range t.Events {
		if e.Kind == history.WireAcquired {
			g := &Grant{Event: e}
			k.grants[e] = g
			t.Grants = append(t.Grants, g)
		}
	}
	t.linkGrants()
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
			k.prolong(g, e)
		}
	case history.WireReleased:
		if e.Done {
			k.released(k.lane(e), e)
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
		before.Loss = k.loss(before, g)
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

// loss explains the end of a grant from the fact that the key was granted
// again. An expiry that was due comes first: it frees the key wherever it is.
func (k *keeper) loss(g, next *Grant) KeyLoss {
	at := next.Event.At
	if g.Expires && at >= g.Expiry-k.slack {
		return k.expired(g, min(g.Expiry, at))
	}
	if death := k.death(g); death != nil {
		return KeyLoss{Cause: LostWithServer, At: death.At, Server: g.Event.Server, Event: death}
	}
	if next.Event.Server != g.Event.Server {
		return KeyLoss{Cause: LostWithServer, At: at, Server: g.Event.Server}
	}
	return KeyLoss{Cause: Unexplained, At: at}
}

// expired is an expiry; when the key's server had died before, so that nothing
// could renew the key, it says so.
func (k *keeper) expired(g *Grant, at time.Duration) KeyLoss {
	l := KeyLoss{Cause: Expired, At: at}
	if death := k.death(g); death != nil && death.At < at {
		l.Server, l.Event = g.Event.Server, death
	}
	return l
}

// death is the last death of the grant's server since the grant, or nil.
func (k *keeper) death(g *Grant) *history.Event {
	deaths := k.deaths[g.Event.Server]
	if len(deaths) == 0 || deaths[len(deaths)-1].At < g.Event.At {
		return nil
	}
	return deaths[len(deaths)-1]
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
	g.Expires, g.Expiry, g.ttl = true, e.At+ttl, ttl
}

// released closes the grant whose key a release removed.
func (k *keeper) released(s *laneState, e *history.Event) {
	g := s.removed(e, k.by[e])
	if g == nil {
		s.early = e
		return
	}
	g.Loss = k.removal(g, e)
	if g.Next != nil {
		g.Loss.At = min(e.At, g.Next.Event.At) // stamped late, see laneState.overtaken
	}
	if s.open == g {
		s.open = nil
	}
}

// removal is the end of a grant whose key the release e removed.
func (k *keeper) removal(g *Grant, e *history.Event) KeyLoss {
	by := k.by[e]
	loss := KeyLoss{Cause: DeletedByOther, At: e.At, By: by, ByInst: e.Instance, Event: e}
	same := by == g.Purchase
	if by == nil || g.Purchase == nil {
		same = e.Instance == g.Event.Instance
	}
	if same {
		loss.Cause = ReleasedByOwn
	}
	return loss
}

// removed is the grant whose key the release e, sent by a purchase, removed. A
// release that compares removes the key with its value, a blind one whatever
// is there. But a grant that was overtaken without a reason had that reason in
// this release, if it was on its way by then: by preference when it was its
// own holder's.
func (s *laneState) removed(e *history.Event, by *Purchase) *Grant {
	if g := s.explained(e, by, true); g != nil {
		return g
	}
	if s.open == nil || by == nil || s.open.Purchase != by {
		if g := s.explained(e, by, false); g != nil {
			return g
		}
	}
	if s.open != nil && e.Value != "" && s.open.Event.Value != e.Value {
		return nil
	}
	return s.open
}

// explained takes the first overtaken grant that a release explains, of the
// sender's own or of anybody.
func (s *laneState) explained(e *history.Event, by *Purchase, own bool) *Grant {
	for i, g := range s.overtaken {
		if own && (by == nil || g.Purchase != by) || e.Value != "" && g.Event.Value != e.Value {
			continue
		}
		unique := e.Value != "" && (s.open == nil || s.open.Event.Value != e.Value)
		onItsWay := by != nil && by.ReleaseStart != nil && by.ReleaseStart.At <= g.Next.Event.At
		if unique || onItsWay {
			s.overtaken = slices.Delete(s.overtaken, i, i+1)
			return g
		}
	}
	return nil
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
