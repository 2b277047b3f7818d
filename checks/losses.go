package checks

import (
	"slices"
	"time"

	"github.com/oversell/oversell/history"
)

// loss explains the end of a grant from the fact that its key was gone from the
// master by a time. An expiry that was due comes first: it frees the key
// wherever it is.
func (k *keeper) loss(g *Grant, master string, at time.Duration) KeyLoss {
	if k.dueBy(g, at) {
		return k.expired(g, min(g.Expiry, at))
	}
	if death := k.death(g); death != nil {
		return KeyLoss{Cause: LostWithServer, At: death.At, Server: g.Event.Server, Event: death}
	}
	if master != g.Event.Server {
		return k.leftBehind(g, master, at)
	}
	return KeyLoss{Cause: Unexplained, At: at}
}

// dueBy reports whether a key's TTL can have ended by a time.
func (k *keeper) dueBy(g *Grant, at time.Duration) bool {
	return g.Expires && at >= min(g.soonest, g.Expiry-k.slack)
}

// leftBehind is the end of a grant whose server lives, and isn't the master any
// more. Whoever promoted the other one may have noted it later than others
// noticed it.
func (k *keeper) leftBehind(g *Grant, master string, at time.Duration) KeyLoss {
	l := KeyLoss{Cause: LostWithServer, At: at, Server: g.Event.Server}
	for _, e := range k.rises[master] {
		if e.At >= g.Event.At {
			l.At, l.Event = min(l.At, e.At), e
			break
		}
	}
	return l
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

// gone explains the end of a grant by a look that found no key on a server that
// lives. A fault that takes the key looks right after its act; somebody else
// may have been granted it in between.
func (k *keeper) gone(s *laneState, e *history.Event) {
	f := k.t.takenBy(e)
	aimed := slices.IndexFunc(s.overtaken, func(g *Grant) bool { return f != nil && aimedAt(f, g) })
	if aimed >= 0 {
		last := aimed + 1
		if f.Fault == "evict" {
			last = len(s.overtaken) // it goes on until it finds no key
		}
		for _, g := range s.overtaken[aimed:last] {
			g.Loss = KeyLoss{Cause: LostData, At: min(e.At, g.Next.Event.At), Server: e.Server, Event: e, Fault: f}
		}
		s.overtaken = slices.Delete(s.overtaken, aimed, last)
		return
	}
	g := s.open
	if g == nil {
		return
	}
	g.Loss, s.open = k.loss(g, e.Server, e.At), nil
	if g.Loss.Cause == Unexplained {
		g.Loss = KeyLoss{Cause: LostData, At: e.At, Server: e.Server, Event: e, Fault: f}
	}
}

// takers are the faults that take the key off a server that lives, and the
// words for what they did to it. A fault's evidence follows its look at the key.
var takers = map[string]string{
	"flush":      "%s was flushed",
	"evict":      "%s evicted it",
	"clock-jump": "the clock of %s jumped ahead",
}

// takenBy is the fault behind a look that found no key, or nil.
func (t *Timeline) takenBy(look *history.Event) *history.Event {
	for _, f := range t.Faults {
		if f.N > look.N && f.At >= look.At && takers[f.Fault] != "" {
			return f
		}
	}
	return nil
}

// aimedAt reports whether a fault was done to the holder of a grant.
func aimedAt(f *history.Event, g *Grant) bool {
	if f.Purchase != "" {
		return g.Purchase != nil && g.Purchase.ID == f.Purchase
	}
	return f.Instance == g.Instance()
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
