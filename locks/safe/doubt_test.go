package safe_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/locks"
)

// TestCancelledOnItsWay cancels Acquire while its SET hangs, before the server
// has it, or after the server has executed it.
func TestCancelledOnItsWay(t *testing.T) {
	for _, executed := range []bool{false, true} {
		name := map[bool]string{false: "not executed yet", true: "executed"}[executed]
		t.Run(name, func(t *testing.T) {
			var answer chan struct{} // made in the bubble
			hang := func(c command, send func() error) error {
				if c.what != "set" {
					return send()
				}
				if executed {
					defer func() { <-answer }()
					return send()
				}
				<-answer
				return send()
			}
			bubble(t, "lua-release", hang, func(t *testing.T, b *bench) {
				answer = make(chan struct{})
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				lease, err := b.locker.Acquire(ctx, key, ttl)
				require.Nil(t, lease)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.NotErrorIs(t, err, locks.ErrNotAcquired)
				require.Equal(t, time.Second, b.now(), "it doesn't wait for the answer")
				require.Equal(t, executed, b.held(t))

				close(answer)
				require.NoError(t, b.locker.Close(), "Close waits until the key is taken back")
				require.Len(t, b.times("release"), 1)
				require.False(t, b.held(t))
			})
		})
	}
}

// TestCancelledWhileTakingBack: the reply to SET is lost, and then the server
// hangs.
func TestCancelledWhileTakingBack(t *testing.T) {
	var answer chan struct{}
	hang := func(c command, send func() error) error {
		if c.what == "set" {
			return lose(send)
		}
		<-answer
		return send()
	}
	bubble(t, "lua-release", hang, func(t *testing.T, b *bench) {
		answer = make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		_, err := b.locker.Acquire(ctx, key, ttl)
		require.ErrorIs(t, err, io.EOF)
		require.NotErrorIs(t, err, locks.ErrNotAcquired)
		require.Equal(t, time.Second/2, b.now(), "ctx ends the wait, and not the taking back")
		require.True(t, b.held(t))
		close(answer)
		require.NoError(t, b.locker.Close())
		require.False(t, b.held(t))
	})
}

// TestNothingToTakeBack is the same with an answer that leaves no doubt.
func TestNothingToTakeBack(t *testing.T) {
	var answer chan struct{}
	hang := func(c command, send func() error) error {
		if c.what == "set" {
			defer func() { <-answer }()
		}
		return send()
	}
	bubble(t, "lua-release", hang, func(t *testing.T, b *bench) {
		answer = make(chan struct{})
		require.NoError(t, b.admin.Set(t.Context(), key, "someone else", 0).Err())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := b.locker.Acquire(ctx, key, ttl)
		require.NotErrorIs(t, err, locks.ErrNotAcquired, "it hadn't heard the answer")
		close(answer)
		require.NoError(t, b.locker.Close())
		require.Empty(t, b.times("release"))
	})
}

func TestGrantedAWholeTTLLate(t *testing.T) {
	late := func(c command, send func() error) error {
		if c.what == "set" && c.nth == 1 {
			defer time.Sleep(ttl)
		}
		return send()
	}
	bubble(t, "lua-watchdog", late, func(t *testing.T, b *bench) {
		lease := b.acquire(t)
		require.Len(t, b.times("set"), 2, "the first had expired when it was heard of")
		require.Len(t, b.times("release"), 1)
		require.False(t, closed(lease.Lost()))
		require.True(t, b.held(t))
		require.NoError(t, lease.Release(t.Context()))
	})
}

func TestGrantedLateAndNotTakenBack(t *testing.T) {
	late := func(c command, send func() error) error {
		if c.what == "release" {
			return io.EOF
		}
		defer time.Sleep(ttl)
		return send()
	}
	bubble(t, "lua-watchdog", late, func(t *testing.T, b *bench) {
		lease, err := b.locker.Acquire(t.Context(), key, ttl)
		require.Nil(t, lease)
		require.ErrorContains(t, err, "outcome unknown")
		require.NotErrorIs(t, err, locks.ErrNotAcquired)
	})
}

func TestReleaseWithAnEndedContext(t *testing.T) {
	bubble(t, "lua-release", pass, func(t *testing.T, b *bench) {
		ctx, cancel := context.WithCancel(t.Context())
		lease, err := b.locker.Acquire(ctx, key, ttl)
		require.NoError(t, err)
		cancel()
		require.NoError(t, lease.Release(ctx))
		require.False(t, b.held(t))
	})
}

// TestReleaseWhoseContextEndsOnTheWay tries again, and doesn't take the answer
// to the second try for one about the first.
func TestReleaseWhoseContextEndsOnTheWay(t *testing.T) {
	for name, first := range map[string]func(send func() error) error{
		"not executed": func(func() error) error { return io.EOF },
		"executed":     lose,
	} {
		t.Run(name, func(t *testing.T) {
			var cancel context.CancelFunc
			m := func(c command, send func() error) error {
				if c.what == "release" && c.nth == 2 {
					defer cancel()
					return first(send)
				}
				return send()
			}
			bubble(t, "lua-release", m, func(t *testing.T, b *bench) {
				var ctx context.Context
				ctx, cancel = context.WithCancel(t.Context())
				require.NoError(t, b.acquire(t).Release(t.Context()), "the server knows the script from now on")
				lease := b.acquire(t)
				err := lease.Release(ctx)
				require.False(t, b.held(t))
				require.Len(t, b.times("release"), 3)
				if name == "not executed" {
					require.NoError(t, err)
					return
				}
				require.ErrorIs(t, err, io.EOF)
				require.NotErrorIs(t, err, locks.ErrNotHeld, "it was ours until the first try")
			})
		})
	}
}

func TestCloseEndsWaiting(t *testing.T) {
	bubble(t, "fenced", pass, func(t *testing.T, b *bench) {
		require.NoError(t, b.admin.Set(t.Context(), key, "someone else", 0).Err())
		done := make(chan error, 1)
		go func() {
			_, err := b.locker.Acquire(t.Context(), key, ttl)
			done <- err
		}()
		synctest.Wait() // it pauses
		require.NoError(t, b.locker.Close())
		err := <-done
		require.ErrorIs(t, err, locks.ErrNotAcquired)
		require.ErrorContains(t, err, "the locker is closed")

		_, err = b.locker.Acquire(t.Context(), key, ttl)
		require.ErrorIs(t, err, locks.ErrNotAcquired)
		require.ErrorContains(t, err, "the locker is closed")
	})
}
