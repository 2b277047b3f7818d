package lockstest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/oversell/oversell/locks"
)

// testExclusion is the flash sale on a good day: calls are short, nothing fails.
func testExclusion(t *testing.T, b *bench) {
	b.sale(t, func(ctx context.Context, l locks.Locker) (locks.Lease, error) { return l.Acquire(ctx, b.key, long) })
}

// testExclusionOfTheImpatient is the same for kinds that may wait for ever for
// a notice that they have missed: buyers give up, and come back.
func testExclusionOfTheImpatient(t *testing.T, b *bench) {
	b.sale(t, func(ctx context.Context, l locks.Locker) (locks.Lease, error) {
		for {
			brief, cancel := context.WithTimeout(ctx, b.TTL/4)
			lease, err := l.Acquire(brief, b.key, long)
			missed := brief.Err() != nil && ctx.Err() == nil
			cancel()
			if err == nil || !missed {
				return lease, err
			}
		}
	})
}

// sale lets every buyer of every instance purchase some units.
func (b *bench) sale(t *testing.T, acquire func(context.Context, locks.Locker) (locks.Lease, error)) {
	t.Helper()
	const instances, buyers, each = 3, 4, 4
	var inside, held atomic.Int32
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx) // the first error ends the waiting of all
	purchase := func(l locks.Locker) error {
		lease, err := acquire(ctx, l)
		if err != nil {
			return err
		}
		if n := inside.Add(1); n != 1 {
			return fmt.Errorf("%d holders at once", n)
		}
		time.Sleep(time.Millisecond) // the business call
		held.Add(1)
		inside.Add(-1)
		return gaveBack(lease.Release(ctx))
	}
	for range instances {
		l := b.locker(t)
		for range buyers {
			g.Go(func() error {
				for range each {
					if err := purchase(l); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	require.NoError(t, g.Wait())
	require.EqualValues(t, instances*buyers*each, held.Load())
	require.Empty(t, b.value(t), "the last release leaves no key")
}

// gaveBack leaves out the error of a kind whose release says nothing.
func gaveBack(err error) error {
	if errors.Is(err, locks.ErrUntold) {
		return nil
	}
	return err
}

func testNextIn(t *testing.T, b *bench) {
	var p tap
	polled := p.after(3 * b.nodes())
	first := b.acquire(t, b.locker(t), long)
	value := b.value(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	second := b.acquiring(ctx, b.locker(t, p.hook()), long)
	await(t, polled, "three attempts while the key is held")
	require.True(t, open(second), "two holders")
	require.Equal(t, value, b.value(t))

	require.NoError(t, first.Release(t.Context()))
	next := await(t, second, "the second lease")
	require.NoError(t, next.err)
	require.NoError(t, next.lease.Release(t.Context()))
	require.Empty(t, b.value(t))
}

func testExpiry(t *testing.T, b *bench) {
	start := time.Now()
	dead := b.locker(t)
	b.acquire(t, dead, b.TTL)
	require.NoError(t, dead.Close(), "its process has died")
	every := b.TTL / 100
	next := b.acquire(t, b.lockerWith(t, locks.Options{RetryEvery: every}), long)
	// Redis counts in milliseconds: half of one may be rounded away at each end.
	require.GreaterOrEqual(t, time.Since(start), b.TTL-time.Millisecond, "the first lease had time left")
	if b.Settle != nil {
		require.LessOrEqual(t, time.Since(start), b.TTL+2*every, "the key was free for longer")
	}
	require.Greater(t, b.pttl(t), b.TTL, "it has its own TTL")
	require.NoError(t, next.Release(t.Context()))
}

func testUniqueValues(t *testing.T, b *bench) {
	seen := map[string]bool{}
	for range 2 {
		l := b.locker(t)
		for range 25 {
			lease := b.acquire(t, l, long)
			v := b.value(t)
			require.NotEmpty(t, v)
			require.False(t, seen[v], "%q was used before", v)
			seen[v] = true
			require.NoError(t, lease.Release(t.Context()))
		}
	}
}

func testReleaseGone(t *testing.T, b *bench) {
	lease := b.acquire(t, b.locker(t), long)
	require.NoError(t, lease.Release(t.Context()))
	require.ErrorIs(t, lease.Release(t.Context()), locks.ErrNotHeld, "released twice")

	lease = b.acquire(t, b.locker(t), long)
	b.del(t)
	require.ErrorIs(t, lease.Release(t.Context()), locks.ErrNotHeld)
}

func testNoRenewals(t *testing.T, b *bench) {
	lease := b.acquire(t, b.locker(t), b.TTL)
	require.Nil(t, lease.Lost(), "it can't tell")
	require.LessOrEqual(t, b.pttl(t), b.TTL)
	b.falls(t, b.TTL)
	require.ErrorIs(t, lease.Release(t.Context()), locks.ErrNotHeld)
}

// testSparesOthers and testFreesOthers are the two answers to the incident's
// question: whose key does A delete when its own has gone?
func testSparesOthers(t *testing.T, b *bench) {
	lease := b.acquire(t, b.locker(t), long)
	b.put(t, "someone else", long)
	require.ErrorIs(t, lease.Release(t.Context()), locks.ErrNotHeld)
	require.Equal(t, "someone else", b.value(t))
	require.Greater(t, b.pttl(t), long/2)
}

// testSparesItsKind is testSparesOthers where the other is of the same kind, so
// that both values have the same form.
func testSparesItsKind(t *testing.T, b *bench) {
	first := b.acquire(t, b.locker(t), long)
	b.del(t)
	second := b.acquire(t, b.locker(t), long)
	value := b.value(t)
	require.NotEmpty(t, value)
	require.ErrorIs(t, first.Release(t.Context()), locks.ErrNotHeld)
	require.Equal(t, value, b.value(t))
	require.NoError(t, second.Release(t.Context()))
}

func testFreesOthers(t *testing.T, b *bench) {
	a := b.acquire(t, b.locker(t), long)
	b.del(t) // A's key expires
	b.acquire(t, b.locker(t), long)
	require.NoError(t, a.Release(t.Context()), "A takes B's key for its own")
	require.Empty(t, b.value(t), "B's key is gone, while B holds it")
	c := b.acquire(t, b.locker(t), long)
	require.NoError(t, c.Release(t.Context()), "C was in, with B")
}
