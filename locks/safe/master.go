package safe

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/oversell/oversell/locks"
)

// master is a hold on one of a quorum's masters. Its mutex keeps what takes the
// key from arriving, on another connection, behind what removes it.
type master struct {
	hold
	mu    sync.Mutex
	ended bool // it was released: nothing may take the key any more
	calm  chan struct{}
	once  sync.Once
}

// newMaster returns one that is locked until take has run.
func newMaster(h hold) *master {
	m := &master{hold: h, calm: make(chan struct{})}
	m.mu.Lock()
	return m
}

// take tries to get the key, says what came of it, and goes on trying for as
// long as insist allows where somebody else has it: competitors who get no
// majority give back at once what they have, and the more masters hold a key,
// the more of them can forget it.
func (m *master) take(ctx context.Context, patience time.Duration, answer func(bool, error), insist <-chan bool) {
	defer m.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	yes, err := m.set(ctx)
	answer(yes, err)
	if yes || err != nil || !<-insist {
		return
	}
	for m.wait(ctx, patience/25) {
		if yes, err := m.set(ctx); yes || err != nil {
			return
		}
	}
}

// wait returns false when ctx has ended or m is to be released.
func (m *master) wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-m.calm:
	case <-ctx.Done():
	}
	return false
}

// regain takes a key that the master has lost and nobody else has got.
func (m *master) regain(ctx context.Context, patience time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, _ = m.set(ctx)
}

// free removes the key. False means that it isn't ours.
func (m *master) free(ctx context.Context) (bool, error) {
	m.once.Do(func() { close(m.calm) })
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	err := m.release(ctx)
	if errors.Is(err, locks.ErrNotHeld) {
		return false, nil
	}
	return unrefused(err == nil, err)
}
