package safe

import (
	"context"
	"sync"
	"time"

	"github.com/oversell/oversell/locks"
)

// watchdog renews one lease every third of its TTL, and says when it is lost:
// when the server answers that the key is someone else's or gone, or when a
// whole TTL has passed without a renewal that is known to have worked.
//
// That TTL is counted on this process's monotonic clock from before the last
// command that worked was sent, so it never ends later than the server's own,
// however long the answer took. A process that was paused learns of its loss as
// soon as it runs again, which can be too late: see fenced.
type watchdog struct {
	hold   hold
	jitter *locks.Jitter

	lost     chan struct{}
	loseOnce sync.Once
	expiry   *time.Timer // closes lost, also while a renewal hangs

	cancel context.CancelFunc
	done   chan struct{} // closed when run has returned
}

// startWatchdog keeps h, which was granted by a command sent at that time,
// until the watchdog or l is ended. Call it between l.enter and l.leave.
func startWatchdog(l *life, h hold, j *locks.Jitter, sent time.Time) *watchdog {
	ctx, cancel := context.WithCancel(l.ctx)
	w := &watchdog{hold: h, jitter: j, lost: make(chan struct{}), cancel: cancel, done: make(chan struct{})}
	w.expiry = time.AfterFunc(time.Until(sent.Add(h.ttl)), w.lose)
	l.wg.Go(func() {
		defer close(w.done)
		defer cancel()
		w.run(ctx, sent)
	})
	return w
}

// end stops renewing, and returns when no renewal is on its way any more. It
// is safe to call more than once.
func (w *watchdog) end() {
	w.cancel()
	<-w.done
	w.expiry.Stop()
}

func (w *watchdog) lose() { w.loseOnce.Do(func() { close(w.lost) }) }

// run returns when ctx ends or the lock is lost.
func (w *watchdog) run(ctx context.Context, sent time.Time) {
	third := w.hold.ttl / 3
	for next := sent.Add(third); w.sleep(ctx, next); {
		sent := time.Now()
		held, err := w.renew(ctx, third)
		switch {
		case err != nil:
			// Soon, and not at the next third: the TTL goes on running.
			next = time.Now().Add(w.jitter.Around(third / 4))
		case !held:
			w.lose()
			return
		case !w.extend(sent):
			return
		default:
			next = sent.Add(third)
		}
	}
}

// sleep blocks until that time; false when ctx ended or the lock was lost before.
func (w *watchdog) sleep(ctx context.Context, until time.Time) bool {
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
func (w *watchdog) renew(ctx context.Context, third time.Duration) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, third)
	defer cancel()
	return w.hold.renew(ctx)
}

// extend moves the expiry to a TTL after a renewal that was sent at that time.
// False when the lock was given up as lost before the answer came.
func (w *watchdog) extend(sent time.Time) bool {
	if !w.expiry.Stop() {
		return false
	}
	w.expiry.Reset(time.Until(sent.Add(w.hold.ttl)))
	return true
}
