package lockstest

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/internal/redistest"
	"github.com/oversell/oversell/locks"
)

func testEndedBefore(t *testing.T, b *bench) {
	var p tap
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	lease, err := b.locker(t, p.hook()).Acquire(ctx, b.key, long)
	require.Nil(t, lease)
	require.ErrorIs(t, err, locks.ErrNotAcquired)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, p.seen(), "nothing needs to be asked")
}

func testEndedWaiting(t *testing.T, b *bench) {
	holder := b.acquire(t, b.locker(t), long)
	value := b.value(t)
	var p tap
	polled := p.after(1)
	ctx, cancel := context.WithCancel(t.Context())
	// A pause that only the end of ctx can cut short.
	waiter := b.acquiring(ctx, b.lockerWith(t, locks.Options{RetryEvery: 100 * long}, p.hook()), long)
	await(t, polled, "an attempt while the key is held")
	if b.Settle != nil {
		b.Settle() // it has heard the answer, and pauses
	}
	cancel()
	got := await(t, waiter, "the end of the waiting")
	require.Nil(t, got.lease)
	require.ErrorIs(t, got.err, context.Canceled)
	if b.Settle != nil { // else the answer may not have been heard, and "unknown" is right
		require.ErrorIs(t, got.err, locks.ErrNotAcquired)
	}
	require.Equal(t, value, b.value(t))
	require.NoError(t, holder.Release(t.Context()))
}

func testShortTTL(t *testing.T, b *bench) {
	var p tap
	l := b.locker(t, p.hook())
	for _, ttl := range []time.Duration{-time.Second, 0, time.Millisecond - 1} {
		lease, err := l.Acquire(t.Context(), b.key, ttl)
		require.Nil(t, lease)
		require.ErrorIs(t, err, locks.ErrNotAcquired)
		require.ErrorContains(t, err, ttl.String())
	}
	require.Empty(t, p.seen())
}

func testWaitsOutFailover(t *testing.T, b *bench) {
	h := replying(3*b.nodes(), redistest.Reply("READONLY You can't write against a read only replica."))
	lease := b.acquire(t, b.locker(t, h), long)
	require.NotEmpty(t, b.value(t))
	require.NoError(t, lease.Release(t.Context()))
}

func testRefusedForGood(t *testing.T, b *bench) {
	const text = "NOPERM this user has no permissions"
	var p tap
	lease, err := b.locker(t, p.hook(), replying(b.nodes(), redistest.Reply(text))).Acquire(t.Context(), b.key, long)
	require.Nil(t, lease)
	require.ErrorIs(t, err, locks.ErrNotAcquired, "an error reply means that nothing was executed")
	require.ErrorContains(t, err, text)
	tries := 0
	for _, name := range p.seen() {
		if name == p.seen()[0] {
			tries++
		}
	}
	require.LessOrEqual(t, tries, b.nodes(), "asking again wouldn't help")
}

func testReplyLost(t *testing.T, b *bench) {
	lease, err := b.locker(t, losingReplies(b.nodes())).Acquire(t.Context(), b.key, long)
	require.Nil(t, lease)
	require.ErrorIs(t, err, io.EOF)
	require.NotErrorIs(t, err, locks.ErrNotAcquired, "it may well have been")
}

func testTakesBack(t *testing.T, b *bench) {
	_, err := b.locker(t, losingReplies(b.nodes())).Acquire(t.Context(), b.key, long)
	require.ErrorIs(t, err, io.EOF)
	require.Empty(t, b.value(t), "the key that was perhaps taken is left behind")

	b.put(t, "someone else", long)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err = b.locker(t, losingReplies(b.nodes())).Acquire(ctx, b.key, long)
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, "someone else", b.value(t), "it took back what was never its own")
}

func testReleaseFails(t *testing.T, b *bench) {
	var to line
	lease := b.acquire(t, b.locker(t, to.hook()), long)
	to.broken.Store(true)
	err := lease.Release(t.Context())
	require.ErrorIs(t, err, io.EOF)
	require.ErrorContains(t, err, "release")
	require.NotErrorIs(t, err, locks.ErrNotHeld, "nobody said so")
	to.broken.Store(false)
	require.NoError(t, lease.Release(t.Context()), "it can be tried again")
}

func testExpiryAtOnce(t *testing.T, b *bench) {
	var p tap
	b.acquire(t, b.locker(t, p.hook()), long)
	seen := p.seen()
	require.NotEmpty(t, seen)
	require.LessOrEqual(t, len(seen), b.nodes(), "one command takes the key and sets its expiry")
	require.NotEmpty(t, b.value(t))
	left := b.pttl(t)
	require.Greater(t, left, long/2)
	require.LessOrEqual(t, left, long)
}

func testTwoCommands(t *testing.T, b *bench) {
	for _, c := range []struct {
		ttl    time.Duration
		second string
	}{{long, "expire"}, {long + time.Millisecond, "pexpire"}} {
		var p tap
		lease := b.acquire(t, b.locker(t, p.hook()), c.ttl)
		require.Equal(t, []string{"setnx", c.second}, p.seen())
		require.Greater(t, b.pttl(t), long/2)
		require.NoError(t, lease.Release(t.Context()))
	}
}
