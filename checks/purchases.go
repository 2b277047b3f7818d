package checks

import (
	"time"

	"github.com/oversell/oversell/history"
)

// Purchase is one purchase, put together from its events. An event that the
// history doesn't have is nil.
type Purchase struct {
	ID       string
	Instance int
	Buyer    int

	Asked        *history.Event // acquire.start
	Answer       *history.Event // acquired, acquire.refused or acquire.unknown
	Begun        *history.Event
	CallStart    *history.Event
	CallEnd      *history.Event
	Lost         *history.Event // the lease said Lost
	Abandoned    *history.Event
	CommitStart  *history.Event
	Commit       *history.Event // committed, commit.refused or commit.unknown
	ReleaseStart *history.Event
	Release      *history.Event // released, release.notheld or release.unknown
	Exit         *history.Event // the exit of its instance, when it came before the release
	Order        *history.Event // order.found

	Hold  *Hold  // what the servers granted it, nil when the wire didn't show it
	Grant *Grant // the first of it

	// From and Until bound the held interval, see Held.
	From, Until time.Duration
}

// Held reports whether the purchase was definitely inside from From on, and
// until just before Until.
//
// The interval is closed at its start and open at its end, and both ends are
// stamped on the inside of the truth. "acquired" is stamped after the reply
// has come back, so the key was granted before From. "release.start" is
// stamped before the release is sent, so the key is still there at Until;
// "lost" ends the interval because from then on the holder knows, and
// "instance.exited" because a dead process is inside nothing. Another buyer
// can therefore rightly acquire at Until, never before: intervals that only
// touch don't overlap, and every overlap of two intervals is a fact, never an
// artefact of stamping. With a closed end, a release and an acquisition that
// share a stamp on a coarse clock would make two holders out of a lock that
// works.
//
// An interval without length (the lease was lost before Acquire returned)
// holds nothing.
func (p *Purchase) Held() bool { return p.Answered(history.Acquired) && p.Until > p.From }

// HeldAt reports whether the purchase was definitely inside at a time.
func (p *Purchase) HeldAt(at time.Duration) bool { return p.Held() && p.From <= at && at < p.Until }

// Answered reports whether Acquire ended in that way.
func (p *Purchase) Answered(k history.Kind) bool { return p.Answer != nil && p.Answer.Kind == k }

// Committed reports whether the inventory said that the commit was written.
func (p *Purchase) Committed() bool { return p.Commit != nil && p.Commit.Kind == history.Committed }

// String names whoever made the purchase: "instance 2, buyer 7".
func (p *Purchase) String() string {
	if p == nil {
		return "somebody unknown"
	}
	return buyerName(p.Instance, p.Buyer)
}

// Call is how long the business call took, or has taken when the purchase
// ended within it. It is 0 when there was no call.
func (p *Purchase) Call() time.Duration {
	switch {
	case p == nil || p.CallStart == nil:
		return 0
	case p.CallEnd != nil:
		return max(p.CallEnd.At-p.CallStart.At, 0)
	default:
		return max(p.Until-p.CallStart.At, 0)
	}
}

// readPurchases puts every purchase together and bounds its held interval.
func (t *Timeline) readPurchases() {
	for _, e := range t.Events {
		if slot := t.slot(e); slot != nil && *slot == nil {
			*slot = e // of several, the first one counts
		}
	}
	for _, p := range t.Purchases {
		t.bound(p)
	}
}

// slot is the field that an event of a purchase fills, or nil.
func (t *Timeline) slot(e *history.Event) **history.Event {
	if e.Purchase == "" {
		return nil
	}
	switch e.Kind {
	case history.AcquireStart:
		return &t.purchaseOf(e).Asked
	case history.Acquired, history.AcquireRefused, history.AcquireUnknown:
		return &t.purchaseOf(e).Answer
	case history.Begun:
		return &t.purchaseOf(e).Begun
	case history.CallStart:
		return &t.purchaseOf(e).CallStart
	case history.CallEnd:
		return &t.purchaseOf(e).CallEnd
	case history.LostNoticed:
		return &t.purchaseOf(e).Lost
	case history.Abandoned:
		return &t.purchaseOf(e).Abandoned
	case history.CommitStart:
		return &t.purchaseOf(e).CommitStart
	case history.Committed, history.CommitRefused, history.CommitUnknown:
		return &t.purchaseOf(e).Commit
	case history.ReleaseStart:
		return &t.purchaseOf(e).ReleaseStart
	case history.Released, history.ReleaseNotHeld, history.ReleaseUnknown:
		return &t.purchaseOf(e).Release
	case history.OrderFound:
		return &t.purchaseOf(e).Order
	default:
		return nil
	}
}

// purchaseOf is the purchase that e belongs to, made when it is new.
func (t *Timeline) purchaseOf(e *history.Event) *Purchase {
	p := t.byID[e.Purchase]
	if p == nil {
		p = &Purchase{ID: e.Purchase, Instance: e.Instance, Buyer: e.Buyer}
		t.byID[e.Purchase] = p
		t.Purchases = append(t.Purchases, p)
	}
	return p
}

// bound sets the held interval, and the exit that ended the purchase.
func (t *Timeline) bound(p *Purchase) {
	var since time.Duration
	switch {
	case p.Answered(history.Acquired):
		since = p.Answer.At
	case p.Answer == nil && p.Asked != nil:
		since = p.Asked.At // it may still have been waiting when its instance ended
	default:
		return
	}
	p.From = since
	// A purchase that nothing ends holds to the end of the history, and the
	// instant of its last event is a part of that.
	p.Until = t.last + 1
	for _, e := range []*history.Event{p.ReleaseStart, p.Lost} {
		if e != nil {
			p.Until = min(p.Until, e.At)
		}
	}
	if exit := t.exitAfter(p.Instance, since); exit != nil && exit.At < p.Until {
		p.Exit, p.Until = exit, exit.At
	}
}
