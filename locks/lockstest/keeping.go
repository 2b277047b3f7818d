package lockstest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/locks"
)

func testRenewals(t *testing.T, b *bench) {
	lease := b.acquire(t, b.locker(t), b.TTL)
	value := b.value(t)
	for until := time.Now().Add(b.TTL * 5 / 2); time.Now().Before(until); time.Sleep(b.TTL / 50) {
		require.Equal(t, value, b.value(t), "the key is held")
		left := b.pttl(t)
		require.Positive(t, left)
		require.LessOrEqual(t, left, b.TTL, "it is never held for longer than the TTL")
		require.True(t, open(lease.Lost()))
	}
	require.NoError(t, lease.Release(t.Context()))
	require.True(t, open(lease.Lost()), "it was given back and not lost")

	// Under the same value even an owner check would let a renewal pass.
	b.put(t, value, b.TTL)
	b.falls(t, b.TTL)
}

func testCloseEndsRenewals(t *testing.T, b *bench) {
	l := b.locker(t)
	lease := b.acquire(t, l, b.TTL)
	require.NoError(t, l.Close())
	require.True(t, open(lease.Lost()), "the key is still there")
	b.falls(t, b.TTL)
	await(t, lease.Lost(), "the loss of a key that nobody renews")
	require.ErrorIs(t, lease.Release(t.Context()), locks.ErrNotHeld)
	require.NoError(t, l.Close(), "closing twice does no harm")
}

func testLostTaken(t *testing.T, b *bench) {
	lease := b.acquire(t, b.locker(t), b.TTL)
	b.put(t, "someone else", long)
	taken := time.Now()
	await(t, lease.Lost(), "the loss of a key that was taken away")
	if b.Settle != nil {
		require.LessOrEqual(t, time.Since(taken), b.TTL/3, "the next renewal notices")
	}
	require.ErrorIs(t, lease.Release(t.Context()), locks.ErrNotHeld)
	require.Equal(t, "someone else", b.value(t))
	require.Greater(t, b.pttl(t), long/2, "a renewal is the owner's alone")
}

func testLostGone(t *testing.T, b *bench) {
	lease := b.acquire(t, b.locker(t), b.TTL)
	require.NoError(t, b.admin.Del(t.Context(), b.key).Err())
	await(t, lease.Lost(), "the loss of a key that was deleted")
	require.Empty(t, b.value(t), "a renewal doesn't bring it back")
	require.ErrorIs(t, lease.Release(t.Context()), locks.ErrNotHeld)
}
