package safe_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/internal/redistest"
	"github.com/oversell/oversell/locks"
)

func TestRenewsEveryThird(t *testing.T) {
	bubble(t, "lua-watchdog", pass, func(t *testing.T, b *bench) {
		lease := b.acquire(t)
		b.sleepUntil(65 * time.Second)
		require.Equal(t, []time.Duration{10e9, 20e9, 30e9, 40e9, 50e9, 60e9}, b.times("renew"))
		require.NoError(t, lease.Release(t.Context()))
		b.sleepUntil(time.Hour)
		require.Len(t, b.times("renew"), 6, "a renewal after the release")
	})
}

func TestFailedRenewalIsTriedAgainSoon(t *testing.T) {
	for name, failure := range map[string]error{
		"connection": io.EOF,
		"refusal":    redistest.Reply("LOADING Redis is loading the dataset in memory"),
	} {
		t.Run(name, func(t *testing.T) {
			failTwice := func(c command, send func() error) error {
				if c.what == "renew" && c.nth <= 2 {
					return failure
				}
				return send()
			}
			bubble(t, "lua-watchdog", failTwice, func(t *testing.T, b *bench) {
				lease := b.acquire(t)
				b.sleepUntil(35 * time.Second)
				at := b.times("renew")
				require.GreaterOrEqual(t, len(at), 4)
				require.Less(t, at[2], 20*time.Second, "both further tries come before the next third")
				require.Equal(t, at[2]+10*time.Second, at[3], "a renewal that worked starts the thirds anew")
				require.False(t, closed(lease.Lost()))
				require.True(t, b.held(t))
				require.NoError(t, lease.Release(t.Context()))
			})
		})
	}
}

// TestLostATTLAfterTheLastRenewal cuts the server off after two renewals. The
// TTL counts from when the second was sent, not from when it was answered.
func TestLostATTLAfterTheLastRenewal(t *testing.T) {
	slowThenDead := func(c command, send func() error) error {
		switch {
		case c.what != "renew" || c.nth == 1:
			return send()
		case c.nth == 2:
			defer time.Sleep(3 * time.Second)
			return send()
		}
		return io.EOF
	}
	bubble(t, "lua-watchdog", slowThenDead, func(t *testing.T, b *bench) {
		lease := b.acquire(t)
		<-lease.Lost()
		require.Equal(t, 20*time.Second+ttl, b.now())
		tried := len(b.times("renew"))
		b.sleepUntil(time.Hour)
		require.Len(t, b.times("renew"), tried, "what is lost isn't renewed")
		require.ErrorIs(t, lease.Release(t.Context()), locks.ErrNotHeld)
	})
}

func TestLostWhileARenewalHangs(t *testing.T) {
	var answer chan struct{} // made in the bubble, as synctest wants it
	hang := func(c command, send func() error) error {
		if c.what == "renew" {
			<-answer // deaf to its deadline, as a client without ContextTimeoutEnabled
		}
		return send()
	}
	bubble(t, "lua-watchdog", hang, func(t *testing.T, b *bench) {
		answer = make(chan struct{})
		lease := b.acquire(t)
		<-lease.Lost()
		require.Equal(t, ttl, b.now())

		released := make(chan error, 1)
		go func() { released <- lease.Release(t.Context()) }()
		b.sleepUntil(ttl + time.Minute)
		require.Empty(t, released, "Release waits for the watchdog")
		close(answer)
		require.ErrorIs(t, <-released, locks.ErrNotHeld)
	})
}

func TestAnAnswerAfterTheLossChangesNothing(t *testing.T) {
	late := func(c command, send func() error) error {
		if c.what == "renew" && c.nth == 2 {
			defer time.Sleep(25 * time.Second)
		}
		return send()
	}
	bubble(t, "lua-watchdog", late, func(t *testing.T, b *bench) {
		lease := b.acquire(t)
		<-lease.Lost()
		require.Equal(t, 10*time.Second+ttl, b.now())
		require.True(t, b.held(t), "the server did prolong it, at 20 s")
		b.sleepUntil(48 * time.Second)
		require.Len(t, b.times("renew"), 2, "the answer came at 45 s")
		require.True(t, b.held(t))
		require.NoError(t, lease.Release(t.Context()), "it can still be given back")
		require.False(t, b.held(t))
	})
}

// mute loses what is written from the first renewal on, and so never gets an
// answer again: a connection whose other end has silently gone away.
type mute struct {
	net.Conn
	from *atomic.Bool // whether the first renewal has been lost
	gone atomic.Bool
}

func (c *mute) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("evalsha")) && c.from.CompareAndSwap(false, true) {
		c.gone.Store(true)
	}
	if c.gone.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

func TestADeadConnectionLeavesTimeForAnother(t *testing.T) {
	bubble(t, "lua-watchdog", pass, func(t *testing.T, b *bench) {
		var lost atomic.Bool
		client := b.server.Client(t, func(o *redis.Options) {
			dial := o.Dialer
			o.ReadTimeout = time.Hour
			o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := dial(ctx, network, addr)
				return &mute{Conn: conn, from: &lost}, err
			}
		})
		client.AddHook(b.hook(pass))
		l := newLocker(t, "lua-watchdog", client)
		defer l.Close()
		lease, err := l.Acquire(t.Context(), key, ttl)
		require.NoError(t, err)
		b.sleepUntil(ttl + 4*time.Second)
		require.True(t, lost.Load())
		require.False(t, closed(lease.Lost()))
		require.True(t, b.held(t))
		at := b.times("renew")
		require.Greater(t, at[1], 20*time.Second, "the first was given a third")
		require.Less(t, at[1], 24*time.Second, "and the next came soon after")
		require.NoError(t, lease.Release(t.Context()))
	})
}

func TestReleaseEndsTheWatchdogWhateverBecomesOfIt(t *testing.T) {
	for name, release := range map[string]func(t *testing.T, b *bench, l locks.Lease){
		"gone": func(t *testing.T, b *bench, l locks.Lease) {
			require.NoError(t, b.admin.Del(t.Context(), key).Err())
			require.ErrorIs(t, l.Release(t.Context()), locks.ErrNotHeld)
		},
		"context ended": func(t *testing.T, _ *bench, l locks.Lease) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			require.NoError(t, l.Release(ctx))
		},
		"twice": func(t *testing.T, _ *bench, l locks.Lease) {
			require.NoError(t, l.Release(t.Context()))
			require.ErrorIs(t, l.Release(t.Context()), locks.ErrNotHeld)
		},
		"locker closed": func(t *testing.T, b *bench, l locks.Lease) {
			require.NoError(t, b.locker.Close())
			require.NoError(t, l.Release(t.Context()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, "lua-watchdog", pass, func(t *testing.T, b *bench) {
				lease := b.acquire(t)
				release(t, b, lease)
				require.False(t, b.held(t))
				require.Empty(t, b.times("renew"))
				b.sleepUntil(time.Hour)
				require.Empty(t, b.times("renew"))
				require.False(t, closed(lease.Lost()), "nothing was lost: it was given back or found out by Release")
			})
		})
	}
}

func TestCloseLeavesLeasesTheirTTL(t *testing.T) {
	bubble(t, "lua-watchdog", pass, func(t *testing.T, b *bench) {
		lease := b.acquire(t)
		b.sleepUntil(25 * time.Second) // the last renewal was at 20 s
		require.NoError(t, b.locker.Close())
		require.False(t, closed(lease.Lost()))
		<-lease.Lost()
		require.Equal(t, 20*time.Second+ttl, b.now())
	})
}
