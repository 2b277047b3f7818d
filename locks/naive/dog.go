package naive

import (
	"context"
	"sync"
	"time"

	"github.com/oversell/oversell/locks"
)

// dog is a naive watchdog: it calls renew every third of the TTL, and what
// becomes of that is each kind's own affair. It doesn't know by its own clock
// when the key has gone.
type dog struct {
	hold     hold
	lost     chan struct{}
	loseOnce sync.Once
	cancel   context.CancelFunc
	done     chan struct{}
}

// startDog renews until end is called, the locker is closed, or renew says false.
func startDog(l *locks.Life, h hold, renew func(context.Context, *dog) bool) *dog {
	ctx, cancel := context.WithCancel(l.Context())
	d := &dog{hold: h, lost: make(chan struct{}), cancel: cancel, done: make(chan struct{})}
	l.Go(func() {
		defer close(d.done)
		defer cancel()
		tick := time.NewTicker(h.ttl / 3)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if ctx.Err() != nil || !renew(ctx, d) {
				return
			}
		}
	})
	return d
}

// lose closes Lost.
func (d *dog) lose() { d.loseOnce.Do(func() { close(d.lost) }) }

// end returns when no renewal is on its way any more.
func (d *dog) end() {
	d.cancel()
	<-d.done
}

// bounded is a renewal with an owner check that may take a third of the TTL.
func (d *dog) bounded(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, d.hold.ttl/3)
	defer cancel()
	return compareAndExpire(ctx, d.hold)
}
