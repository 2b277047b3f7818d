package explore

import (
	"testing/synctest"
	"time"
)

// whatTimeFor says for whom time may pass.
type whatTimeFor uint8

const (
	forNobody    whatTimeFor = iota
	forSlowCalls             // a call may still take longer
	forHeldUp                // what one buyer sends is held up
	forWaiters               // nothing else can happen
)

// quiet reports whether nothing is on its way that has to arrive before time
// passes, but for what the buyers for whom except says true send.
func (w *world) quiet(except func(*buyer) bool) bool {
	for _, b := range w.buyers {
		if except(b) {
			continue
		}
		for _, p := range b.pend {
			if p.kind != ofCall && !w.blocked(p) {
				return false
			}
		}
	}
	return true
}

func isHeld(b *buyer) bool { return b.held }

func (w *world) anybodyCalling(except func(*buyer) bool) bool {
	for _, b := range w.buyers {
		if b.alive() && b.inCall() && !except(b) {
			return true
		}
	}
	return false
}

// mayPass says for whom time may pass in this state.
func (w *world) mayPass() whatTimeFor {
	if !w.quiet(isHeld) {
		return forNobody
	}
	calling, held := w.anybodyCalling(isHeld), w.anybodyHeld()
	switch {
	case calling && !w.canBeSlow():
		return forNobody
	case held && w.late > 0 && !calling:
		return forHeldUp
	case w.canBeSlow() && w.anybodyCalling(func(*buyer) bool { return false }):
		return forSlowCalls
	}
	return forNobody
}

// canBeSlow reports whether a call may still take longer.
func (w *world) canBeSlow() bool { return w.slow > 0 && (w.slowed || w.faults > 0) }

func (w *world) anybodyHeld() bool {
	for _, b := range w.buyers {
		if b.alive() && b.held {
			return true
		}
	}
	return false
}

// canDelay reports whether b's messages can be held up now: there are some,
// and nobody else has to be served first.
func (w *world) canDelay(b *buyer) bool {
	if !b.alive() || b.held || w.left[hDelay] == 0 || w.anybodyHeld() {
		return false
	}
	mine := false
	for _, p := range b.pend {
		mine = mine || p.kind != ofCall && !w.blocked(p)
	}
	is := func(o *buyer) bool { return o == b }
	return mine && w.quiet(is) && (!w.anybodyCalling(is) && !b.inCall() || w.canBeSlow())
}

// budgetOfTime is where the time of a pass event comes from.
func (w *world) budgetOfTime() *time.Duration {
	switch w.mayPass() {
	case forHeldUp:
		return &w.late
	case forSlowCalls:
		return &w.slow
	}
	return nil
}

func (w *world) passUpTo(budget *time.Duration) {
	if budget == nil {
		w.passTime(patience * w.c.TTL)
		w.hopeless = !w.anyTTL() && w.quiet(func(*buyer) bool { return false })
		return
	}
	*budget = w.passTime(*budget)
}

// patience is in TTLs: who hasn't moved after so long waits for ever.
const patience = 4

// passTime lets time pass until somebody sends something new, a key expires, or
// all of budget is used up, and returns what is left of budget.
func (w *world) passTime(budget time.Duration) time.Duration {
	began := time.Now()
	limit := budget
	if next := w.nextExpiry(); next > 0 {
		limit = min(limit, next+time.Millisecond)
	}
	whole := limit
	refused := w.refuseWaiters()
	for limit > 0 {
		count := w.arrivals()
		w.sleep(limit, func() bool { return w.arrivedLocked() != count || w.trouble != nil })
		if left := whole - time.Since(began); left > 0 {
			// What is due at the same time but for some waiter's pause comes together.
			w.sleep(min(left, w.moment()), func() bool { return false })
		}
		if !w.refuseTimed() {
			break
		}
		limit = whole - time.Since(began)
	}
	w.look()
	w.freeWaiters(refused)
	w.look()
	return max(0, budget-time.Since(began))
}

// moment is so short that two things within it count as happening together.
func (w *world) moment() time.Duration { return w.c.TTL / 2000 }

func (w *world) arrivals() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.arrivedLocked()
}

func (w *world) arrivedLocked() int {
	n := 0
	for _, b := range w.buyers {
		n += b.arrivals
		if b.done {
			n += 1 << 20
		}
	}
	return n
}

// expireNext lets time pass until the next key has expired, whatever is sent
// meanwhile.
func (w *world) expireNext() {
	limit := w.nextExpiry() + time.Millisecond
	refused := w.refuseWaiters()
	began := time.Now()
	w.sleep(limit, func() bool { return false })
	for n := 0; n < 100 && w.refuseTimed(); n++ {
		if left := limit - time.Since(began); left > 0 {
			w.sleep(left, func() bool { return false })
		}
	}
	w.look()
	w.freeWaiters(refused)
	w.look()
}

// nextExpiry is the time until the next key expires, 0 when none does.
func (w *world) nextExpiry() time.Duration {
	var next time.Duration
	for i := range w.states {
		for _, e := range w.states[i].entries {
			if e.TTL > 0 && (next == 0 || e.TTL < next) {
				next = e.TTL
			}
		}
	}
	if next > 0 { // entries are as old as the newest look
		next = w.freshTTL()
	}
	return next
}

func (w *world) freshTTL() time.Duration {
	w.look()
	var next time.Duration
	for i := range w.states {
		for _, e := range w.states[i].entries {
			if e.TTL > 0 && (next == 0 || e.TTL < next) {
				next = e.TTL
			}
		}
	}
	return next
}

// refuseWaiters executes the commands of those who ask in vain, so that they
// ask anew when the time has passed: what they sent before would be old by then.
// Their replies are kept back meanwhile; else they would ask many times more.
func (w *world) refuseWaiters() []kept {
	var ks []kept
	for _, b := range w.buyers {
		for _, p := range append([]*pending(nil), b.pend...) {
			if p.kind != ofCommand || !w.blocked(p) || !p.conn.until.IsZero() || p.conn.closed {
				continue
			}
			ks = append(ks, kept{b, p, w.refuse(b, p)})
		}
	}
	return ks
}

type kept struct {
	b     *buyer
	p     *pending
	reply []byte
}

// refuse executes what is known to come to nothing.
func (w *world) refuse(b *buyer, p *pending) []byte {
	w.mu.Lock()
	b.remove(p)
	b.trail = append(b.trail, fold{shape: p.shape, view: b.view, seen: p.seen})
	p.conn.head, p.conn.await = nil, p
	w.mu.Unlock()
	keep := w.keep
	w.keep = false
	reply, wrote := w.execute(b, p)
	w.keep = keep
	if wrote {
		w.fail(errNotACircle)
	}
	return reply
}

// refuseTimed answers those who ask in vain and can't wait; it reports whether
// there were any, and nobody else came.
func (w *world) refuseTimed() bool {
	any := false
	for _, b := range w.buyers {
		for _, p := range append([]*pending(nil), b.pend...) {
			if p.kind != ofCommand || !w.blocked(p) || p.conn.until.IsZero() || p.conn.closed {
				continue
			}
			any = true
			arrivals := b.arrivals
			reply := w.refuse(b, p)
			w.mu.Lock()
			p.conn.await = nil
			w.mu.Unlock()
			w.hear(p, reply)
			w.settle(b, arrivals)
		}
	}
	return any && w.quiet(isHeld)
}

func (w *world) freeWaiters(ks []kept) {
	for _, k := range ks {
		w.mu.Lock()
		k.p.conn.await = nil
		arrivals := k.b.arrivals
		w.mu.Unlock()
		w.hear(k.p, k.reply)
		w.settle(k.b, arrivals)
	}
	synctest.Wait()
}
