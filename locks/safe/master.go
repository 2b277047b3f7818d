package safe

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/oversell/oversell/locks"
)

// master is a hold on one of a quorum's masters. Only one at a time takes or
// removes the key, so that what takes it can't arrive, on another connection,
// behind what removes it.
type master struct {
	hold
	turn  chan struct{} // full while it is somebody's turn
	ended bool          // it was released: nothing may take the key any more
	calm  chan struct{} // closed when it is to be released
	once  sync.Once
}

// newMaster returns one whose first turn is take's.
func newMaster(h hold) *master {
	m := &master{hold: h, turn: make(chan struct{}, 1), calm: make(chan struct{})}
	m.turn <- struct{}{}
	return m
}

// take tries to get the key, and says what came of it. Where somebody else has
// it, it tries again within patience, once the majority is won: competitors who
// get none give back at once what they have, and the more masters hold a key,
// the more of them can forget it.
func (m *master) take(ctx context.Context, patience time.Duration, answer func(bool, error), won <-chan bool) {
	defer func() { <-m.turn }()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	yes, err := m.set(ctx)
	answer(yes, err)
	if yes || err != nil || !<-won {
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
	m.turn <- struct{}{}
	defer func() { <-m.turn }()
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
	m.turn <- struct{}{}
	defer func() { <-m.turn }()
	m.ended = true
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	err := m.release(ctx)
	if errors.Is(err, locks.ErrNotHeld) {
		return false, nil
	}
	return unrefused(err == nil, err)
}
