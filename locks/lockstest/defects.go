package lockstest

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/internal/redistest"
	"github.com/oversell/oversell/locks"
)

// BlindRelease tests the defect of a kind that removes another's key.
func BlindRelease(t *testing.T, k locks.Kind, with World) {
	run(t, k, with, []test{{"release frees another's key", testFreesOthers}})
}

// TwoStepAcquire tests the defect of a kind that takes the key first, and sets
// its expiry with a second command.
func TwoStepAcquire(t *testing.T, k locks.Kind, with World) {
	run(t, k, with, []test{
		{"two commands", testTwoCommands},
		{"a crash in between leaves the key for ever", testCrashBetween},
	})
}

// TwoStepRelease tests the defect of a kind that looks whose the key is, and
// then removes it.
func TwoStepRelease(t *testing.T, k locks.Kind, with World) {
	run(t, k, with, []test{
		{"release spares another's key, if it looks in time", testSparesOthers},
		{"the key changes hands in between", testChangesHands},
	})
}

func testChangesHands(t *testing.T, b *bench) {
	h := redistest.Hook(func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
		if cmd.Name() == "del" {
			b.put(t, "someone else", long)
		}
		return next(ctx, cmd)
	})
	lease := b.acquire(t, b.locker(t, h), long)
	require.NoError(t, lease.Release(t.Context()), "it takes the other's key for its own")
	require.Empty(t, b.value(t), "the other's key is gone")
}

// RenewsOthers tests the defect of a kind that prolongs whatever key is there.
func RenewsOthers(t *testing.T, k locks.Kind, with World) {
	run(t, k, with, []test{{"renewals keep another's key", testRenewsOthers}})
}

func testRenewsOthers(t *testing.T, b *bench) {
	lease := b.acquire(t, b.locker(t), b.TTL)
	b.put(t, "someone else", b.TTL)
	b.stays(t, "someone else", 2*b.TTL)
	require.True(t, open(lease.Lost()), "it takes the other's key for its own")
	require.ErrorIs(t, lease.Release(t.Context()), locks.ErrNotHeld)
}

// GivesUpRenewing tests the defect of a kind whose watchdog one failure ends,
// and that doesn't say so.
func GivesUpRenewing(t *testing.T, k locks.Kind, with World) {
	run(t, k, with, []test{{"one lost renewal loses the key", testGivesUpRenewing}})
}

func testGivesUpRenewing(t *testing.T, b *bench) {
	var to line
	lease := b.acquire(t, b.locker(t, to.hook()), b.TTL)
	to.fail.Store(1)
	b.falls(t, b.TTL)
	require.True(t, open(lease.Lost()), "nobody was told")
	next := b.acquire(t, b.locker(t), long)
	require.ErrorIs(t, lease.Release(t.Context()), locks.ErrNotHeld)
	require.NoError(t, next.Release(t.Context()))
}

// LeaksRenewals tests the defect of a kind whose watchdog goes on when the
// release didn't remove the key.
func LeaksRenewals(t *testing.T, k locks.Kind, with World) {
	run(t, k, with, []test{
		{"a failed release leaves the key for ever", testKeepsAfterFailure},
		{"a release of nothing leaves the watchdog", testKeepsAfterLoss},
	})
}

func testKeepsAfterFailure(t *testing.T, b *bench) {
	var to line
	lease := b.acquire(t, b.locker(t, to.hook()), b.TTL)
	value := b.value(t)
	to.fail.Store(1)
	require.ErrorIs(t, lease.Release(t.Context()), io.EOF)
	b.stays(t, value, 3*b.TTL)
}

func testKeepsAfterLoss(t *testing.T, b *bench) {
	var p tap
	lease := b.acquire(t, b.locker(t, p.hook()), b.TTL)
	b.del(t)
	require.ErrorIs(t, lease.Release(t.Context()), locks.ErrNotHeld)
	before := len(p.seen())
	for until := time.Now().Add(patience + b.TTL); len(p.seen()) < before+3; time.Sleep(b.TTL / 50) {
		require.True(t, time.Now().Before(until), "no more renewals are sent")
	}
}

// FailsOpen tests the defect of a kind to which an error counts as the lock.
func FailsOpen(t *testing.T, k locks.Kind, with World) {
	run(t, k, with, []test{{"an error lets two in", testFailsOpen}})
}

func testFailsOpen(t *testing.T, b *bench) {
	first := b.acquire(t, b.locker(t), long)
	value := b.value(t)
	var to line
	l := b.locker(t, to.hook())
	to.broken.Store(true)
	second, err := l.Acquire(t.Context(), b.key, long)
	require.NoError(t, err)
	require.NotNil(t, second, "two are in")
	to.broken.Store(false)
	require.ErrorIs(t, second.Release(t.Context()), locks.ErrNotHeld)
	require.Equal(t, value, b.value(t))
	require.NoError(t, first.Release(t.Context()))
}
