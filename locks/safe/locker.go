package safe

import (
	"context"
	"fmt"
	"time"

	"github.com/oversell/oversell/locks"
)

// locker is all kinds of this package: they differ in what a claim is made of,
// in whether a watchdog renews it, and in what the purchase does with the
// inventory's fence.
type locker struct {
	claim  func(key string, ttl time.Duration) claim
	jitter *locks.Jitter
	renews bool
	life   *locks.Life
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
	return l.life.Acquire(ctx, key, func(ctx context.Context) (locks.Lease, error) {
		return l.acquire(ctx, key, ttl)
	})
}

func (l *locker) acquire(ctx context.Context, key string, ttl time.Duration) (locks.Lease, error) {
	c := l.claim(key, ttl)
	if c.life() <= 0 {
		return nil, fmt.Errorf("acquire %q: %w: in a TTL of %v the masters' clocks may drift apart by more than that",
			key, locks.ErrNotAcquired, ttl)
	}
	var sent time.Time
	err := locks.Poll(ctx, key, l.jitter, func(ctx context.Context) (bool, error) {
		sent = time.Now()
		return l.try(ctx, c, sent)
	})
	if err != nil {
		return nil, err
	}
	le := &lease{claim: c}
	if l.renews {
		le.dog = locks.StartWatchdog(l.life, locks.Renewal{TTL: ttl, Life: c.life(), Renew: c.renew, Jitter: l.jitter}, sent)
	}
	return le, nil
}

// answer is what became of one try.
type answer struct {
	granted bool
	err     error
}

// doubtful reports whether the key may be ours without our being sure of it.
func (a answer) doubtful() bool { return a.err != nil && !locks.Refused(a.err) }

// try lets c try once, and leaves nothing behind unless it returns true.
func (l *locker) try(ctx context.Context, c claim, sent time.Time) (bool, error) {
	a, err := l.await(ctx, c)
	if err != nil {
		return false, err
	}
	switch {
	case a.doubtful():
		l.takeBack(ctx, c)
		return false, a.err
	case a.granted && l.renews && time.Since(sent) >= c.life():
		// The answer took so long that the key may have expired meanwhile: a
		// lease whose Lost is closed from the start would help nobody.
		if err := l.takeBack(ctx, c); !released(err) {
			// Not wrapped: a refusal to release is no refusal to acquire.
			return false, fmt.Errorf("granted when its time was over, and not taken back: %v", err)
		}
		return false, nil
	}
	return a.granted, a.err
}

// await lets c try to take the key, and waits for the answer or for ctx, because
// cancelling ctx doesn't interrupt a command that has been sent. An answer that
// comes too late is heard in the background, and what it granted is taken back.
func (l *locker) await(ctx context.Context, c claim) (answer, error) {
	heard := make(chan answer, 1)
	l.life.Go(func() {
		ok, err := c.set(ctx)
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
	l.life.Go(func() {
		if a := <-heard; a.granted || a.doubtful() {
			_ = releaseSurely(ctx, c)
		}
	})
	return answer{}, fmt.Errorf("gave up on the command that takes it: %w", locks.Ended(ctx))
}

// takeBack releases c within grace. It returns early, leaving that to the
// background, when ctx ends; the error then says so.
func (l *locker) takeBack(ctx context.Context, c claim) error {
	done := make(chan error, 1)
	l.life.Go(func() {
		own, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		done <- c.release(own)
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
	l.life.End()
	return nil
}
