package explore

import (
	"fmt"
	"testing/synctest"
	"time"
)

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

// budgetOfTime is where the time of a pass event comes from.
func (w *world) budgetOfTime() *time.Duration {
	switch w.scene().mayPass() {
	case forHeldUp:
		return &w.late
	case forSlowCalls:
		return &w.slow
	}
	return nil
}

func (w *world) passUpTo(budget *time.Duration) {
	if budget == nil {
		before, began := w.newsNow(), time.Now()
		w.passTime(patience * w.c.TTL)
		w.waited = true
		if w.newsNow() != before {
			w.idle += time.Since(began)
		}
		return
	}
	*budget = w.passTime(*budget)
}

// progress notes that something has changed for those who wait.
func (w *world) progress() { w.idle = 0 }

// inVainForLong reports whether much was sent for several TTLs, and nothing of
// it has changed anything for those who wait: somebody renews what nobody needs.
func (w *world) inVainForLong() bool { return w.idle >= patience*w.c.TTL }

// patience is in TTLs: who hasn't moved after so long waits for ever.
const patience = 4

// passTime lets time pass until somebody sends something new, a key expires, or
// all of budget is used up, and returns what is left of budget.
func (w *world) passTime(budget time.Duration) time.Duration {
	began := time.Now()
	whole := budget
	if next := w.nextExpiry(); next > 0 {
		whole = min(whole, next+time.Millisecond)
	}
	since := w.newsNow()
	refused := w.beginStep()
	for time.Since(began) < whole && w.trouble == nil {
		w.sleep(min(whole-time.Since(began), soonest(refused)), func() bool { return w.news() != since || w.trouble != nil })
		if w.newsNow() != since {
			break
		}
		refused = w.refuseAnew(refused)
	}
	w.endStep(refused)
	return max(0, budget-time.Since(began))
}

// beginStep begins a step of time: who asks in vain is refused, and hears of it at
// endStep, unless that is too late.
func (w *world) beginStep() (refused []kept) {
	refused = w.refuseWaiters(nil)
	w.passing = true
	return refused
}

func (w *world) endStep(refused []kept) {
	w.align()
	w.look()
	w.freeWaiters(refused)
	w.gather()
	w.look()
}

// align lets time pass up to the next point of a lattice. Waiters' pauses make
// the clock drift by a few microseconds, differently in every order; without a
// lattice it would be a matter of them which of two things that are due together
// comes first. Locks wait for thirds, fifths and tenths of the TTL, which are
// multiples of a thirtieth. 601 is prime: no 600 steps or less, of 64/601 of that
// each, come to such a multiple, nor nearer to one than a step's 64th, which is
// ten times what waiters' pauses make. So nothing is due at a point of the lattice
// that was begun to be waited for at another.
func (w *world) align() {
	step := w.c.TTL / 30 * 64 / 601
	gone := time.Since(w.start)
	w.sleep((gone/step+1)*step-gone, func() bool { return false })
	w.stamp, w.passing = w.now(), false
}

func (w *world) newsNow() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.news()
}

// news counts what has come from buyers that isn't asked in vain. Called with
// w.mu held.
func (w *world) news() int {
	n := 0
	for _, b := range w.buyers {
		n += b.fresh
		if b.done {
			n += 1 << 20
		}
	}
	return n
}

// expireNext lets time pass until the next key has expired, whatever is sent
// meanwhile.
func (w *world) expireNext() {
	whole := w.nextExpiry() + time.Millisecond
	refused := w.beginStep()
	for began := time.Now(); time.Since(began) < whole && w.trouble == nil; {
		w.sleep(min(whole-time.Since(began), soonest(refused)), func() bool { return false })
		if time.Since(began) < whole {
			refused = w.refuseAnew(refused)
		}
	}
	w.endStep(refused)
}

// nextExpiry is the time until the next key expires, 0 when none does.
func (w *world) nextExpiry() time.Duration {
	w.lookAgain()
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

// kept is a refusal that is kept back.
type kept struct {
	b     *buyer
	p     *pending
	reply []byte
	until time.Time // when its buyer has to hear of it; zero for whenever
}

// refuseWaiters executes the commands of those who ask in vain, so that they
// ask anew when the time has passed: what they sent before would be old by then.
// Their replies are kept back meanwhile, as long as they have the patience; else
// they would ask many times more.
func (w *world) refuseWaiters(ks []kept) []kept {
	w.lookAgain() // what they are refused for may have expired just now
	for _, b := range w.buyers {
		for _, p := range append([]*pending(nil), b.pend...) {
			if p.kind != ofCommand || !w.blocked(p) || p.orphan() {
				continue
			}
			k := kept{b: b, p: p, reply: w.refuse(b, p)}
			if !p.conn.until.IsZero() {
				k.until = time.Now().Add(time.Until(p.conn.until) * 9 / 10)
			}
			ks = append(ks, k)
		}
	}
	return ks
}

// soonest is the time until the first of them has to hear of its refusal.
func soonest(ks []kept) time.Duration {
	soon := time.Duration(1<<63 - 1)
	for _, k := range ks {
		if !k.until.IsZero() {
			soon = min(soon, max(0, time.Until(k.until)))
		}
	}
	return soon
}

// refuseAnew lets those hear of their refusal who have to, and refuses what
// they ask then.
func (w *world) refuseAnew(ks []kept) []kept {
	var later []kept
	now := time.Now()
	for _, k := range ks {
		if k.until.IsZero() || k.until.After(now) {
			later = append(later, k)
			continue
		}
		w.freeWaiters([]kept{k})
	}
	return w.refuseWaiters(later)
}

// refuse executes what is known to come to nothing, and has its connection wait
// for the reply.
func (w *world) refuse(b *buyer, p *pending) []byte {
	w.mu.Lock()
	b.remove(p)
	t := b.threadOf(p)
	b.noteFold(t, b.foldAt(p, t.view, p.seen))
	p.conn.head, p.conn.await = nil, p
	w.mu.Unlock()
	return w.inVain(b, p)
}

// inVain executes what must not take effect.
func (w *world) inVain(b *buyer, p *pending) []byte {
	keep := w.keep
	w.keep = false
	reply, wrote := w.execute(b, p)
	w.keep = keep
	if wrote {
		w.fail(fmt.Errorf("%s: %w: %s", letter(b.n), errNotACircle, lettered(commandText(w.shapeOf(p)))))
	}
	return reply
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
