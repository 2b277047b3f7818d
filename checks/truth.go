package checks

import (
	"fmt"
	"time"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// truth compares what the lock told its caller with what the servers answered.
//
// It speaks only of what is certain. Which command belongs to which purchase is
// told by values that were granted once; where a lock uses no such values, or
// the wire can't tell what its commands are for, there is nothing to compare.
// And it holds a lock to the answers that it was given: a DEL that removed
// somebody else's key was answered with 1, and what that did is for the other
// checks to say.
func truth() Check {
	return check(Check{
		Name:     "truth",
		Summary:  "what the lock told its caller is what the servers answered",
		Property: result.Truth,
	}, judgeTruth)
}

func judgeTruth(t *Timeline) []result.Finding {
	var fs []result.Finding
	for _, u := range t.untruths() {
		fs = append(fs, u.finding(result.Truth, result.Misreported))
	}
	return fs
}

// untruths lists what the lock said that wasn't so, one of each kind.
func (t *Timeline) untruths() []*tale {
	if !t.tellsUnanswered() {
		return nil
	}
	var found []*tale
	for _, find := range []func(*Timeline) *tale{heldWithoutGrant, refusedAndGranted, notHeldAndRemoved, releasedAndNot} {
		if u := find(t); u != nil {
			found = append(found, u)
		}
	}
	return found
}

// heldWithoutGrant looks for purchases that were told that they hold the lock,
// and no server had granted it to them, or on a quorum too few. It counts: each
// such purchase needs a hold of its instance between its question and its
// answer, and no hold serves two.
func heldWithoutGrant(t *Timeline) *tale {
	found := t.ungranted()
	if len(found) == 0 {
		return nil
	}
	u := &tale{moment: t.ungrantedMoment(found[0])}
	if len(found) > 1 {
		u.text += fmt.Sprintf("; %s in all were told so", counted(len(found), "purchase"))
	}
	for _, p := range found[:min(len(found), maxProof)] {
		u.events = append(u.events, numbers(p.Asked, p.Answer)...)
	}
	return u
}

func (t *Timeline) ungrantedMoment(p *Purchase) moment {
	return moment{p.Answer.At, fmt.Sprintf("%s was told that it holds the lock, and %s the key since it had asked at %s",
		p, t.grantWords(p), seconds(p.askedAt()))}
}

// ungranted lists those who were told that they hold the lock and were granted
// nothing. It is empty where the history can't tell, or shows no grant at all.
func (t *Timeline) ungranted() []*Purchase {
	if !t.tellsUnanswered() {
		return nil
	}
	granted := t.grantTimes()
	matched := 0
	var found []*Purchase
	// Who was answered first takes the first one that fits: if that leaves
	// somebody without one, every other way does.
	for _, p := range t.answered(history.Acquired) {
		if s := granted[p.Instance]; s != nil {
			if i := s.since(p.askedAt()); s.fits(i, p.Answer.At) {
				s.take(i)
				matched++
				continue
			}
		}
		// A lock may hand what its instance has from one buyer to the next.
		if !t.heldBy(p.Instance, p.Answer.At, p.Answer.At) {
			found = append(found, p)
		}
	}
	if matched == 0 {
		return nil
	}
	return found
}

// grantTimes are the times at which each instance was granted the key by enough
// servers, or may have been.
func (t *Timeline) grantTimes() map[int]*slots {
	at := make(map[int][]time.Duration)
	for _, h := range t.Holds {
		if h.Enough() {
			at[h.Instance()] = append(at[h.Instance()], h.At())
		}
	}
	for _, d := range t.lostAttempts() {
		at[d.lost[0].Instance] = append(at[d.lost[0].Instance], d.from)
	}
	found := make(map[int]*slots)
	for instance, times := range at {
		found[instance] = newSlots(times)
	}
	return found
}

// grantWords say how many servers granted a purchase the key that didn't hold it.
func (t *Timeline) grantWords(p *Purchase) string {
	most := 0
	for _, h := range t.Holds {
		if h.Instance() == p.Instance && h.Purchase == nil && !h.Enough() && h.At() >= p.askedAt() && h.At() <= p.Answer.At {
			most = max(most, len(h.Grants))
		}
	}
	if most == 0 {
		return "no server had granted it"
	}
	return fmt.Sprintf("only %s had granted it", counted(most, "server"))
}

// refusedAndGranted looks for a key that was granted, never taken back, and not
// renewed or released either, while every purchase that can have asked for it
// was told that it certainly doesn't hold it.
func refusedAndGranted(t *Timeline) *tale {
	w := t.whose()
	touched := make(map[owned]bool)
	for _, e := range t.Events {
		switch e.Kind {
		case history.WireReleased, history.WireRenewed, history.WireUnanswered:
			if e.Kind != history.WireUnanswered || e.Role != roleAcquire {
				touched[owned{e.Instance, e.Value}] = true // "" for a command that names no value
			}
		}
	}
	for _, h := range t.Holds {
		k := owned{h.Instance(), h.Grants[0].Event.Value}
		unseen := w.holds[k] == h && h.Enough() && !touched[k] && !touched[owned{h.Instance(), ""}]
		if !unseen || h.At()+t.Plan.TTL > t.End {
			continue
		}
		ps := w.owners(h)
		if p := refused(ps, t); p != nil {
			return &tale{
				moment: moment{p.Answer.At, fmt.Sprintf("%s was told that it doesn't hold the lock, although %s granted it the key at %s; nobody took it back within a TTL",
					p, h.Grants[0].Event.Server, seconds(h.At()))},
				events: append(h.events(), numbers(p.Asked, p.Answer)...),
			}
		}
	}
	return nil
}

// refused is the first of some purchases, when all of them were told during the
// load that they certainly don't hold the lock; else nil.
func refused(ps []*Purchase, t *Timeline) *Purchase {
	for _, p := range ps {
		if !p.Answered(history.AcquireRefused) || p.Answer.At > t.End {
			return nil
		}
	}
	if len(ps) == 0 {
		return nil
	}
	return ps[0]
}

// answers are what the servers said to one purchase's own releases while it was
// releasing, by server.
type answers struct {
	removed, not map[string]*history.Event
	lost         bool // one of the instance wasn't answered
}

// ownReleases gathers the answers of every purchase whose value is known for
// sure. It is empty when no release of the run was seen to take effect: then
// the wire doesn't know how to read them.
func (t *Timeline) ownReleases() map[*Purchase]*answers {
	found := make(map[*Purchase]*answers)
	w := t.whose()
	read := false
	for _, e := range t.Events {
		if e.Kind != history.WireReleased || e.Value == "" {
			continue
		}
		read = read || e.Done
		h := w.holds[owned{e.Instance, e.Value}]
		if h == nil || !h.sure || !h.Purchase.releasingAt(sentAt(e)) || !h.Purchase.releasingAt(e.At) {
			continue
		}
		a := found[h.Purchase]
		if a == nil {
			a = &answers{removed: make(map[string]*history.Event), not: make(map[string]*history.Event)}
			found[h.Purchase] = a
		}
		if e.Done {
			a.removed[e.Server] = e
		} else {
			a.not[e.Server] = e
		}
	}
	if !read {
		return nil
	}
	for _, e := range t.Events {
		if e.Kind != history.WireUnanswered || e.Role != roleRelease {
			continue
		}
		for p, a := range found {
			a.lost = a.lost || p.Instance == e.Instance && p.ReleaseStart.At <= e.At && sentAt(e) <= p.Release.At
		}
	}
	return found
}

// releasingAt reports whether a purchase was waiting for its release at a time.
func (p *Purchase) releasingAt(at time.Duration) bool {
	return p.ReleaseStart != nil && p.Release != nil && p.ReleaseStart.At <= at && at <= p.Release.At
}

// notHeldAndRemoved looks for releases that were said to have found the key
// gone or someone else's, and were what removed it.
func notHeldAndRemoved(t *Timeline) *tale {
	own := t.ownReleases()
	for _, p := range t.Purchases {
		a := own[p]
		if a == nil || p.Release.Kind != history.ReleaseNotHeld || len(a.removed) < t.majority() {
			continue
		}
		e := a.removed[sortedKeys(a.removed)[0]]
		return &tale{
			moment: moment{p.Release.At, fmt.Sprintf("%s was told that the key wasn't its own any more, although its own %s had removed it at %s",
				p, e.Command, seconds(e.At))},
			events: numbers(p.ReleaseStart, e, p.Release),
		}
	}
	return nil
}

// releasedAndNot looks for releases that were said to have worked, and every
// answer was that the key is gone or someone else's.
func releasedAndNot(t *Timeline) *tale {
	own := t.ownReleases()
	for _, p := range t.Purchases {
		a := own[p]
		if a == nil || p.Release.Kind != history.Released || a.lost {
			continue
		}
		for server := range a.removed {
			delete(a.not, server)
		}
		if len(a.not) < t.majority() {
			continue
		}
		e := a.not[sortedKeys(a.not)[0]]
		return &tale{
			moment: moment{p.Release.At, fmt.Sprintf("%s was told that it gave the lock back, although %s answered its %s with %q: the key was gone or someone else's",
				p, e.Server, e.Command, e.Text)},
			events: numbers(p.ReleaseStart, e, p.Release),
		}
	}
	return nil
}
