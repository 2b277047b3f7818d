package lockstest

import (
	"io"
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
	require.NoError(t, gaveBack(lease.Release(t.Context())))
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
	require.ErrorIs(t, lease.Release(t.Context()), locks.ErrNotHeld)
	require.NoError(t, l.Close(), "closing twice does no harm")
}

func testCloseIsNoticed(t *testing.T, b *bench) {
	l := b.locker(t)
	lease := b.acquire(t, l, b.TTL)
	require.NoError(t, l.Close())
	b.falls(t, b.TTL)
	await(t, lease.Lost(), "the loss of a key that nobody renews")
}

// testCutOff is a partition: the key may be someone else's a TTL later, and no
// server can say so.
func testCutOff(t *testing.T, b *bench) {
	var to line
	lease := b.acquire(t, b.locker(t, to.hook()), b.TTL)
	time.Sleep(b.TTL / 2)
	before := time.Now()
	to.broken.Store(true)
	require.True(t, open(lease.Lost()))
	await(t, lease.Lost(), "the loss of a key whose server is out of reach")
	if b.Settle != nil {
		require.Less(t, time.Since(before), b.TTL, "the key can't have lasted longer")
	}
	require.ErrorIs(t, lease.Release(t.Context()), io.EOF)
}

// testTriesAgain loses the first renewal.
func testTriesAgain(t *testing.T, b *bench) {
	var to line
	lease := b.acquire(t, b.locker(t, to.hook()), b.TTL)
	value := b.value(t)
	to.fail.Store(int32(b.nodes()))
	b.stays(t, value, b.TTL*5/2)
	require.LessOrEqual(t, to.fail.Load(), int32(0), "no renewal was lost")
	require.True(t, open(lease.Lost()))
	require.NoError(t, lease.Release(t.Context()))
}

func testLostToItsKind(t *testing.T, b *bench) {
	first := b.acquire(t, b.locker(t), b.TTL)
	b.del(t)
	second := b.acquire(t, b.locker(t), long)
	await(t, first.Lost(), "the loss of a key that another of its kind has")
	require.True(t, open(second.Lost()))
	require.Greater(t, b.pttl(t), long/2, "a renewal is the owner's alone")
	require.NoError(t, second.Release(t.Context()))
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
	b.del(t)
	await(t, lease.Lost(), "the loss of a key that was deleted")
	require.Empty(t, b.value(t), "a renewal doesn't bring it back")
	require.ErrorIs(t, lease.Release(t.Context()), locks.ErrNotHeld)
}
