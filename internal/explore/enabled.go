package explore

import "errors"

var errNotACircle = errors.New("a command that was refused before took effect the second time, although nothing had changed")

// enabled lists what can happen next. The order is fixed.
func (w *world) enabled(evs []event) []event {
	if w.trouble != nil {
		return evs
	}
	w.lookAgain()
	bounded := w.c.Preemptions >= 0 && w.hops >= w.c.Preemptions && w.last > 0 && w.couldGoOn(w.last)
	for _, b := range w.buyers {
		if bounded && b.n != w.last {
			continue
		}
		evs = w.ofBuyer(evs, b)
	}
	if w.onlyOrphans() {
		return evs[:0]
	}
	ordinary := len(evs)
	evs = w.hazards(evs)
	if w.mayPass() != forNobody {
		evs = append(evs, makeEvent(pass, 0, 0))
	} else if ordinary == 0 && w.anybodyWaits() {
		evs = append(evs, makeEvent(pass, 0, 0))
	}
	return evs
}

// onlyOrphans reports whether every buyer is done, and what is still on its way
// was given up by its sender: nobody would notice whether it arrives.
func (w *world) onlyOrphans() bool {
	for _, b := range w.buyers {
		if b.alive() {
			return false
		}
		for _, p := range b.pend {
			if !p.orphan() {
				return false
			}
		}
	}
	return true
}

func (w *world) ofBuyer(evs []event, b *buyer) []event {
	for i, p := range b.pend {
		switch {
		case b.crashed:
		case p.kind == ofCall:
			evs = append(evs, makeEvent(giveBack, b.n, i))
		case p.orphan() && i > 0 && b.pend[i-1].orphan() && b.pend[i-1].shape == p.shape:
			// Nobody hears of either: it doesn't matter which comes first.
		case p.kind != ofCommand || !w.blocked(p):
			evs = append(evs, makeEvent(deliver, b.n, i))
		}
	}
	return evs
}

// hazards lists what can go wrong next.
func (w *world) hazards(evs []event) []event {
	for _, b := range w.buyers {
		if !b.alive() {
			continue
		}
		for i, p := range b.pend {
			if p.kind != ofCommand || w.blocked(p) || p.conn.closed {
				continue
			}
			if w.left[hLostReply] > 0 {
				evs = append(evs, makeEvent(loseReply, b.n, i))
			}
			if w.left[hLostSend] > 0 {
				evs = append(evs, makeEvent(loseSend, b.n, i))
			}
		}
		if w.left[hCrash] > 0 && len(b.pend) > 0 {
			evs = append(evs, makeEvent(crash, b.n, 0))
		}
		if w.canDelay(b) {
			evs = append(evs, makeEvent(delay, b.n, 0))
		}
	}
	st := &w.states[0]
	if w.left[hExpiry] > 0 && w.anyTTL() {
		evs = append(evs, makeEvent(expire, 0, 0))
	}
	if w.left[hFailover] > 0 && len(st.log) > 0 {
		evs = append(evs, makeEvent(failover1, 0, 0))
		if len(st.log) > 1 {
			evs = append(evs, makeEvent(failover2, 0, 0))
		}
	}
	if w.left[hRestart] > 0 && len(st.entries) > 0 {
		evs = append(evs, makeEvent(restart, 0, 0))
	}
	if w.left[hEviction] > 0 && len(st.entries) > 0 {
		evs = append(evs, makeEvent(evict, 0, 0))
	}
	return evs
}

func (w *world) anyTTL() bool {
	for i := range w.states {
		for _, e := range w.states[i].entries {
			if e.TTL > 0 {
				return true
			}
		}
	}
	return false
}

// anybodyWaits reports whether time could still bring something: somebody
// hasn't got what he wants. When it has brought nothing for long, nothing will.
func (w *world) anybodyWaits() bool {
	if w.hopeless || w.inVainForLong() {
		return false
	}
	for _, b := range w.buyers {
		if b.alive() {
			return true
		}
	}
	return false
}

// conclude judges a schedule in which nothing more can happen.
func (w *world) conclude() outcome {
	o := w.outcome
	if len(w.shelf.orders) <= w.c.Stock && len(w.shelf.orders)+w.shelf.units != w.c.Stock {
		o |= mismatch
	}
	if w.shelf.units > 0 {
		for _, b := range w.buyers {
			if b.alive() {
				o |= stalled
			}
		}
	}
	return o
}
