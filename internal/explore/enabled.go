package explore

import (
	"errors"
	"slices"
)

var errNotACircle = errors.New("a command that was refused before took effect the second time, although nothing had changed")

// enabled lists what can happen next. The order is fixed.
func (w *world) enabled(evs []event) []event {
	if w.trouble != nil {
		return evs
	}
	return w.scene().enabled(evs)
}

// enabled lists what can happen next.
func (s *scene) enabled(evs []event) []event {
	if s.masters > 0 && s.settled() {
		return s.afterSale(evs)
	}
	bounded := s.preemptions >= 0 && int(s.hops) >= s.preemptions && s.last > 0 && s.buyers[s.last-1].couldGoOn()
	for i := range s.buyers {
		if !bounded || i+1 == int(s.last) {
			evs = s.ofBuyer(evs, i)
		}
	}
	if s.onlyOrphans() {
		return evs[:0]
	}
	ordinary := len(evs)
	evs = s.hazards(evs)
	if s.mayPass() != forNobody || ordinary == 0 && s.anybodyWaits() {
		evs = append(evs, makeEvent(pass, 0, 0))
	}
	return evs
}

// settled reports whether it is certain by now whether more is sold than there was:
// nothing is left, and each of those who are inside and have read that there was
// something sells one too many, if he comes to it.
func (s *scene) settled() bool {
	inside := slices.ContainsFunc(s.buyers, func(b sketch) bool { return b.inside() })
	return s.units == 0 && (!inside || int(s.orders) >= s.stock)
}

// afterSale lets those who are inside come to their end, and then those who have bought
// give back what they hold. On several masters nothing else is followed after that: what
// the others do then, who will find nothing left, is most of what there is.
func (s *scene) afterSale(evs []event) []event {
	for at := range s.buyers {
		if b := &s.buyers[at]; b.inside() {
			for i, p := range b.pend {
				switch {
				case p.is(isCall):
					return append(evs, b.event(giveBack, at+1, i))
				case p.is(isStep):
					return append(evs, b.event(deliver, at+1, i))
				}
			}
		}
	}
	if int(s.orders) > s.stock {
		return evs // no more than that can go wrong
	}
	for at := range s.buyers {
		b := &s.buyers[at]
		if b.is&isCrashed != 0 || b.bought == 0 {
			continue // who is done may still have something on its way
		}
		i := slices.IndexFunc(b.pend, func(p trait) bool { return p.is(isCommand) && !p.is(isOrphan|isBlocked|isBehind|isOld) })
		if i >= 0 {
			evs = append(evs, b.event(deliver, at+1, i))
		}
	}
	return evs
}

// onlyOrphans reports whether every buyer is done, and what is still on its way
// was given up by its sender: nobody would notice whether it arrives.
func (s *scene) onlyOrphans() bool {
	for i := range s.buyers {
		if s.buyers[i].alive() {
			return false
		}
		for _, p := range s.buyers[i].pend {
			if !p.is(isOrphan) {
				return false
			}
		}
	}
	return true
}

// couldGoOn reports whether a buyer has something that may happen now, or as soon as
// it would change something.
func (b *sketch) couldGoOn() bool {
	if !b.alive() {
		return false
	}
	for _, p := range b.pend {
		if !p.is(isBlocked) {
			return true
		}
	}
	return false
}

// behind reports whether something is still on its way of an attempt before the
// present one. It arrives before there is another: else a buyer could stand in its own
// way for ever.
func (b *sketch) behind() bool {
	return slices.ContainsFunc(b.pend, func(p trait) bool { return p.is(isOld) && !p.is(isOrphan) })
}

// anybodyTries reports whether a buyer tries to get the lock, or gives back what it took.
func (s *scene) anybodyTries() bool {
	return slices.ContainsFunc(s.buyers, func(b sketch) bool { return b.is&isTrying != 0 })
}

func (s *scene) ofBuyer(evs []event, at int) []event {
	b := &s.buyers[at]
	if b.is&isCrashed != 0 {
		return evs
	}
	for i, p := range b.pend {
		switch {
		case p.is(isCall):
			evs = append(evs, b.event(giveBack, at+1, i))
		case p.is(isPause) && (b.behind() || b.is&isClashing != 0 && s.anybodyTries()):
		case !p.is(isTwin) && !p.is(isBlocked) && !p.is(isBehind) && !s.isVoid(at, i):
			evs = append(evs, b.event(deliver, at+1, i))
		}
	}
	return evs
}

// hazards lists what can go wrong next.
func (s *scene) hazards(evs []event) []event {
	for at := range s.buyers {
		b := &s.buyers[at]
		if !b.alive() {
			continue
		}
		for i, p := range b.pend {
			if !p.is(isCommand) || p.is(isBlocked) || p.is(isOrphan) {
				continue
			}
			if s.left[hLostReply] > 0 {
				evs = append(evs, b.event(loseReply, at+1, i))
			}
			if s.left[hLostSend] > 0 {
				evs = append(evs, b.event(loseSend, at+1, i))
			}
		}
		if s.left[hCrash] > 0 && len(b.pend) > 0 {
			evs = append(evs, makeEvent(crash, at+1, 0))
		}
		if s.canDelay(at) {
			evs = append(evs, makeEvent(delay, at+1, 0))
		}
	}
	if s.left[hExpiry] > 0 && s.anyTTL && (s.masters == 0 || s.onTheirWay() <= 1) {
		evs = append(evs, makeEvent(expire, 0, 0))
	}
	for i := range max(1, s.masters) {
		evs = s.ofServer(evs, i)
	}
	return evs
}

// ofServer lists what can happen to a server.
func (s *scene) ofServer(evs []event, i int) []event {
	add := func(a act) {
		ev := makeEvent(a, 0, 0)
		if s.masters > 0 {
			ev = ev.at(i)
		}
		evs = append(evs, ev)
	}
	if s.left[hFailover] > 0 && s.logged[i] > 0 {
		add(failover1)
		if s.logged[i] > 1 {
			add(failover2)
		}
	}
	if s.left[hRestart] > 0 && s.anything[i] {
		add(restart)
	}
	if s.left[hEviction] > 0 && s.anything[i] {
		add(evict)
	}
	return evs
}

// whatTimeFor says for whom time may pass.
type whatTimeFor uint8

const (
	forNobody    whatTimeFor = iota
	forSlowCalls             // a call may still take longer
	forHeldUp                // what one buyer sends is held up
)

// mayPass says for whom time may pass in this state.
func (s *scene) mayPass() whatTimeFor {
	if !s.quiet((*sketch).held) {
		return forNobody
	}
	calling := s.anybodyCalling((*sketch).held)
	switch {
	case calling && !s.canBeSlow:
		return forNobody
	case s.late && !calling && s.anybodyHeld():
		return forHeldUp
	case s.canBeSlow && s.anybodyCalling(nobody):
		return forSlowCalls
	}
	return forNobody
}

// onTheirWay is of how many buyers something is on its way that would have to arrive
// before time passes.
func (s *scene) onTheirWay() (many int) {
	for i := range s.buyers {
		if !s.quiet(func(b *sketch) bool { return b != &s.buyers[i] }) {
			many++
		}
	}
	return many
}

// quiet reports whether nothing is on its way that has to arrive before time
// passes, but for what the buyers for whom but says true send.
func (s *scene) quiet(but func(*sketch) bool) bool {
	for i := range s.buyers {
		b := &s.buyers[i]
		if but(b) {
			continue
		}
		for j, p := range b.pend {
			if p.waits() && !s.isVoid(i, j) {
				return false
			}
		}
	}
	return true
}

func nobody(*sketch) bool { return false }

func (s *scene) anybodyCalling(but func(*sketch) bool) bool {
	for i := range s.buyers {
		if b := &s.buyers[i]; b.alive() && b.inCall() && !but(b) {
			return true
		}
	}
	return false
}

func (b *sketch) inCall() bool {
	for _, p := range b.pend {
		if p.is(isCall) {
			return true
		}
	}
	return false
}

func (s *scene) anybodyHeld() bool {
	for i := range s.buyers {
		if b := &s.buyers[i]; b.alive() && b.held() {
			return true
		}
	}
	return false
}

// canDelay reports whether b's messages can be held up now: there are some,
// and nobody else has to be served first.
func (s *scene) canDelay(at int) bool {
	b := &s.buyers[at]
	if !b.alive() || b.held() || s.left[hDelay] == 0 || s.anybodyHeld() {
		return false
	}
	mine := false
	for i, p := range b.pend {
		mine = mine || p.waits() && !s.isVoid(at, i)
	}
	is := func(o *sketch) bool { return o == b }
	return mine && s.quiet(is) && (!s.anybodyCalling(is) && !b.inCall() || s.canBeSlow)
}

// anybodyWaits reports whether time could still bring something: somebody
// hasn't got what he wants. When it has brought nothing for long, nothing will.
func (s *scene) anybodyWaits() bool {
	if s.hopeless || s.vain {
		return false
	}
	for i := range s.buyers {
		if s.buyers[i].alive() {
			return true
		}
	}
	return false
}

// conclude judges a schedule in which nothing more can happen.
func (s *scene) conclude() outcome {
	o := s.outcome
	if int(s.orders) <= s.stock && int(s.orders+s.units) != s.stock {
		o |= mismatch
	}
	if s.units > 0 {
		for i := range s.buyers {
			if s.buyers[i].alive() {
				o |= stalled
			}
		}
	}
	return o
}
