package explore

import (
	"slices"
	"testing/synctest"
	"time"
)

// settle waits until everybody stands still, and, when b hasn't come to a new
// command since it had so many arrivals, lets the time of a pause pass for it.
func (w *world) settle(b *buyer, arrivals int) {
	synctest.Wait()
	if b == nil {
		return
	}
	w.pauseFor(b, arrivals)
	for n := 0; n < maxCircle && w.walk(b); n++ {
	}
}

func (w *world) pauseFor(b *buyer, arrivals int) {
	w.mu.Lock()
	came := b.cameBack(arrivals)
	if w.c.Masters > 0 && b.waits() {
		came = true // whoever pauses says so
	}
	limit := pauseLimit
	if b.mayPause() {
		limit = w.c.TTL / 25
	}
	w.mu.Unlock()
	if came {
		return
	}
	w.sleep(limit, func() bool { return b.cameBack(arrivals) || w.trouble != nil })
}

// gather waits, after time has passed, for those who pause just then: else it
// would be a matter of microseconds during whose next step they come back.
func (w *world) gather() {
	for _, b := range w.buyers {
		w.mu.Lock()
		pausing := b.alive() && b.mayPause()
		arrivals := b.arrivals
		w.mu.Unlock()
		if pausing {
			w.settle(b, arrivals)
		}
	}
}

// maxCircle bounds the commands of one way round.
const maxCircle = 20

// walk delivers what b sends on its way round a circle, so that it always waits
// at the same place. It reports whether there was anything.
func (w *world) walk(b *buyer) bool {
	w.lookAgain()
	w.mu.Lock()
	i := slices.IndexFunc(b.pend, func(p *pending) bool { return p.onWay && !p.orphan() })
	if i < 0 || !b.alive() || b.held {
		w.mu.Unlock()
		return false
	}
	p := b.pend[i]
	p.onWay = false
	t := b.threadOf(p)
	if t.circle.at == nil || t.circle.seen != w.contentOf(p) {
		w.mu.Unlock()
		return false
	}
	b.remove(p)
	arrivals := b.arrivals
	b.noteFold(t, b.foldAt(p, t.view, t.circle.seen))
	w.mu.Unlock()
	reply := w.inVain(b, p)
	w.hear(p, reply)
	synctest.Wait()
	w.pauseFor(b, arrivals)
	return true
}

// pauseLimit is longer than any pause of a waiter.
const pauseLimit = 2 * retryEvery

// sleep lets time pass until enough has happened, or limit is over.
func (w *world) sleep(limit time.Duration, enough func() bool) {
	// The lock also orders what was looked at until now before whoever wakes up.
	w.mu.Lock()
	is := enough()
	w.mu.Unlock()
	if is {
		return
	}
	t := time.NewTimer(limit)
	defer t.Stop()
	for {
		select {
		case <-w.wake:
		case <-t.C:
			synctest.Wait()
			return
		}
		synctest.Wait()
		w.mu.Lock()
		is := enough()
		w.mu.Unlock()
		if is {
			return
		}
	}
}
