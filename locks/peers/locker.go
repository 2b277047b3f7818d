package peers

import (
	"context"
	"time"

	"github.com/oversell/oversell/locks"
)

// try is one acquirer's use of a library that asks once and doesn't wait.
type try interface {
	// once tries to take the key; false means that somebody else has it.
	once(ctx context.Context) (bool, error)
	// extend prolongs the key; false means that it is no longer ours.
	extend(ctx context.Context) (bool, error)
	release(ctx context.Context) error
	// life is for how long the library takes the key for held.
	life() time.Duration
}

// locker adapts libraries that leave waiting and extending to their user. The
// waiting is that of all kinds, so that they can be compared. Extending is done
// every third of the TTL, again soon when it fails, and the lock counts as lost
// by the clock as soon as the library's own validity is over.
type locker struct {
	begin   func(key string, ttl time.Duration) try
	extends bool
	jitter  *locks.Jitter
	life    *locks.Life
}

func newLocker(opts locks.Options, extends bool, begin func(string, time.Duration) try) *locker {
	return &locker{begin: begin, extends: extends, jitter: locks.NewJitter(opts), life: locks.NewLife()}
}

func (l *locker) Acquire(ctx context.Context, key string, ttl time.Duration) (locks.Lease, error) {
	ttl, err := locks.CheckTTL(key, ttl)
	if err != nil {
		return nil, err
	}
	return l.life.Acquire(ctx, key, func(ctx context.Context) (locks.Lease, error) {
		t := l.begin(key, ttl)
		var sent time.Time
		err := locks.Poll(ctx, key, l.jitter, func(ctx context.Context) (bool, error) {
			sent = time.Now()
			return t.once(ctx)
		})
		if err != nil {
			return nil, err
		}
		le := &lease{try: t}
		if l.extends {
			le.dog = locks.StartWatchdog(l.life, locks.Renewal{TTL: ttl, Life: t.life(), Renew: t.extend, Jitter: l.jitter}, sent)
		}
		return le, nil
	})
}

// Close ends waiting and extending, and waits for both.
func (l *locker) Close() error {
	l.life.End()
	return nil
}

type lease struct {
	try try
	dog *locks.Watchdog // nil when nothing extends
}

// Lost is nil when nothing extends: nobody looks.
func (l *lease) Lost() <-chan struct{} {
	if l.dog == nil {
		return nil
	}
	return l.dog.Lost()
}

// Renewals is 0 when nothing extends.
func (l *lease) Renewals() int {
	if l.dog == nil {
		return 0
	}
	return l.dog.Renewals()
}

func (l *lease) Release(ctx context.Context) error {
	if l.dog != nil {
		l.dog.End()
	}
	return l.try.release(ctx)
}
