package safe

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/oversell/oversell/locks"
)

// locker is all kinds of this package: they differ in whether a watchdog renews
// the lock, and in what the purchase does with the inventory's fence.
type locker struct {
	client redis.UniversalClient
	jitter *locks.Jitter
	renews bool
	life   *life
}

func newLocker(kind string, c locks.Clients, opts locks.Options, renews bool) (locks.Locker, error) {
	if c.Redis == nil {
		return nil, fmt.Errorf("%s: the cluster has no one server to lock on", kind)
	}
	return &locker{client: c.Redis, jitter: locks.NewJitter(opts), renews: renews, life: newLife()}, nil
}

// Acquire polls until the key is taken. When ctx ends, or Close is called, it
// returns at once: with ErrNotAcquired between two tries, and with an unknown
// outcome while a command is on its way.
//
// Whenever the outcome is unknown, the key is taken back by its token, as well
// as that can be done: in the background once ctx has ended, else before
// Acquire returns. What can't be taken back falls at its TTL.
func (l *locker) Acquire(ctx context.Context, key string, ttl time.Duration) (locks.Lease, error) {
	ttl, err := locks.CheckTTL(key, ttl)
	if err != nil {
		return nil, err
	}
	if !l.life.enter() {
		return nil, fmt.Errorf("acquire %q: %w: %w", key, locks.ErrNotAcquired, errClosed)
	}
	defer l.life.leave()
	ctx, unbind := l.life.bind(ctx)
	defer unbind()

	h := hold{client: l.client, key: key, token: rand.Text(), ttl: ttl}
	var sent time.Time
	err = locks.Poll(ctx, key, l.jitter, func(ctx context.Context) (bool, error) {
		sent = time.Now()
		return l.try(ctx, h, sent)
	})
	if err != nil {
		return nil, err
	}
	le := &lease{hold: h}
	if l.renews {
		le.dog = startWatchdog(l.life, h, l.jitter, sent)
	}
	return le, nil
}

// answer is what became of one SET.
type answer struct {
	granted bool
	err     error
}

// doubtful reports whether the key may be ours without our being sure of it.
func (a answer) doubtful() bool { return a.err != nil && !locks.Refused(a.err) }

// try sends one SET, and leaves nothing behind unless it returns true.
func (l *locker) try(ctx context.Context, h hold, sent time.Time) (bool, error) {
	a, err := l.await(ctx, h)
	if err != nil {
		return false, err
	}
	switch {
	case a.doubtful():
		l.takeBack(ctx, h)
		return false, a.err
	case a.granted && l.renews && time.Since(sent) >= h.ttl:
		// The answer took so long that the key may have expired meanwhile: a
		// lease whose Lost is closed from the start would help nobody.
		if err := l.takeBack(ctx, h); !released(err) {
			// Not wrapped: a refusal to release is no refusal to acquire.
			return false, fmt.Errorf("granted a whole TTL late, and not taken back: %v", err)
		}
		return false, nil
	}
	return a.granted, a.err
}

// await sends one SET and waits for its answer or for ctx, because cancelling
// ctx doesn't interrupt a command that has been sent. An answer that comes too
// late is heard in the background, and what it granted is taken back.
func (l *locker) await(ctx context.Context, h hold) (answer, error) {
	heard := make(chan answer, 1)
	l.life.wg.Go(func() {
		ok, err := h.set(ctx)
		heard <- answer{ok, err}
	})
	select {
	case a := <-heard:
		return a, nil
	case <-ctx.Done():
	}
	select {
	case a := <-heard: // both at once: what is known goes first
		return a, nil
	default:
	}
	l.life.wg.Go(func() {
		if a := <-heard; a.granted || a.doubtful() {
			_ = h.releaseSurely(ctx)
		}
	})
	return answer{}, fmt.Errorf("gave up on the command that takes it: %w", locks.Ended(ctx))
}

// takeBack releases h within grace. It returns early, leaving that to the
// background, when ctx ends; the error then says so.
func (l *locker) takeBack(ctx context.Context, h hold) error {
	done := make(chan error, 1)
	l.life.wg.Go(func() {
		own, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		done <- h.release(own)
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("gave up on taking it back: %w", locks.Ended(ctx))
	}
}

// Close ends all waiting and all renewing, and waits for it: at most as long as
// commands on their way take, and grace. Leases stay valid and can be released,
// but aren't kept any longer: they are Lost a TTL after their last renewal.
func (l *locker) Close() error {
	l.life.end()
	return nil
}
