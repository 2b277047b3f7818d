package locks

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Renewal is what a Watchdog renews, and how.
type Renewal struct {
	// TTL is what a renewal gives the key. It is renewed every third of it.
	TTL time.Duration
	// Life is for how long the key is surely held after a command that took or
	// renewed it was sent: the TTL, or less where clocks may drift apart.
	Life time.Duration
	// Renew prolongs the key, within a third of the TTL. False means that it is
	// someone else's or gone; an error means that it is tried again soon.
	Renew  func(ctx context.Context) (held bool, err error)
	Jitter *Jitter
}

// Watchdog keeps one lease, and says when it is lost: when the server answers
// that the key is someone else's or gone, or when a whole Life has passed
// without a renewal that is known to have worked.
//
// That Life is counted on this process's monotonic clock from before the last
// command that worked was sent, so it never ends later than the server's own,
// however long the answer took. A process that was paused learns of its loss as
// soon as it runs again, which can be too late: only a fence helps then.
type Watchdog struct {
	r Renewal

	lost     chan struct{}
	loseOnce sync.Once
	expiry   *time.Timer // closes lost, also while a renewal hangs
	renewals atomic.Int64

	cancel context.CancelFunc
	done   chan struct{} // closed when run has returned
}

// StartWatchdog keeps a key that was granted by a command sent at that time,
// until the watchdog or l is ended. Call it between l.Enter and l.Leave.
func StartWatchdog(l *Life, r Renewal, sent time.Time) *Watchdog {
	ctx, cancel := context.WithCancel(l.Context())
	w := &Watchdog{r: r, lost: make(chan struct{}), cancel: cancel, done: make(chan struct{})}
	w.expiry = time.AfterFunc(time.Until(sent.Add(r.Life)), w.lose)
	l.Go(func() {
		defer close(w.done)
		defer cancel()
		w.run(ctx, sent)
	})
	return w
}

// Lost is closed when the lease is lost. It stays open after End.
func (w *Watchdog) Lost() <-chan struct{} { return w.lost }

// Renewals is how many renewals have worked so far.
func (w *Watchdog) Renewals() int { return int(w.renewals.Load()) }

// End stops renewing, and returns when no renewal is on its way any more. It
// is safe to call more than once.
func (w *Watchdog) End() {
	w.cancel()
	<-w.done
	w.expiry.Stop()
}

func (w *Watchdog) lose() { w.loseOnce.Do(func() { close(w.lost) }) }

// run returns when ctx ends or the lock is lost.
func (w *Watchdog) run(ctx context.Context, sent time.Time) {
	third := w.r.TTL / 3
	for next := sent.Add(third); w.sleep(ctx, next); {
		sent := time.Now()
		held, err := w.renew(ctx, third)
		switch {
		case err != nil:
			// Soon, and not at the next third: the TTL goes on running.
			next = time.Now().Add(w.r.Jitter.Around(third / 4))
		case !held:
			w.lose()
			return
		case !w.extend(sent):
			return
		default:
			w.renewals.Add(1)
			next = sent.Add(third)
		}
	}
}

// sleep blocks until that time; false when ctx ended or the lock was lost before.
func (w *Watchdog) sleep(ctx context.Context, until time.Time) bool {
	t := time.NewTimer(time.Until(until))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-w.lost:
	}
	select {
	case <-w.lost:
		return false
	default:
		return ctx.Err() == nil
	}
}

// renew gives a renewal no longer than a third, so that a dead connection
// leaves time for another try.
func (w *Watchdog) renew(ctx context.Context, third time.Duration) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, third)
	defer cancel()
	return w.r.Renew(ctx)
}

// extend moves the expiry to a Life after a renewal that was sent at that time.
// False when the lock was given up as lost before the answer came.
func (w *Watchdog) extend(sent time.Time) bool {
	if !w.expiry.Stop() {
		return false
	}
	w.expiry.Reset(time.Until(sent.Add(w.r.Life)))
	return true
}
