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

// putOn gives the key to someone else on the masters of that index.
func (b *bench) putOn(t *testing.T, masters ...int) {
	t.Helper()
	for _, i := range masters {
		require.NoError(t, b.admins[i].Set(t.Context(), b.key, "someone else", long).Err())
	}
}

// on lists what each master holds.
func (b *bench) on(t *testing.T) []string {
	t.Helper()
	var values []string
	for _, c := range b.admins {
		values = append(values, valueOn(t, c, b.key))
	}
	return values
}

// eventually polls for what comes about in the background.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for until := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(until), "it never came: %s", what)
	}
}

func testMinorityTaken(t *testing.T, b *bench) { b.waitsBehindMajority(t) }

func testMinorityGivenBack(t *testing.T, b *bench) {
	b.waitsBehindMajority(t)
	eventually(t, "the two are given back", func() bool {
		v := b.on(t)
		return v[3] == "" && v[4] == ""
	})
}

// waitsBehindMajority lets one wait, until its context ends, while somebody
// else has three of five masters.
func (b *bench) waitsBehindMajority(t *testing.T) {
	t.Helper()
	b.putOn(t, 0, 1, 2)
	var p tap
	polled := p.after(5 * b.nodes())
	ctx, cancel := context.WithCancel(t.Context())
	waiter := b.acquiring(ctx, b.locker(t, p.hook()), long)
	await(t, polled, "some attempts")
	require.True(t, open(waiter), "two of five are no majority")
	cancel()
	got := await(t, waiter, "the end of the waiting")
	require.Nil(t, got.lease)
	require.ErrorIs(t, got.err, context.Canceled)
	require.Equal(t, []string{"someone else", "someone else", "someone else"}, b.on(t)[:3])
}

func testMajorityFree(t *testing.T, b *bench) {
	b.putOn(t, 0, 1)
	lease := b.acquire(t, b.locker(t), long)
	require.NotEmpty(t, b.value(t))
	require.NoError(t, lease.Release(t.Context()))
	eventually(t, "all three are given back", func() bool {
		v := b.on(t)
		return v[2] == "" && v[3] == "" && v[4] == ""
	})
	require.Equal(t, "someone else", b.on(t)[0], "a release spares another's key")
}

// lines are connections to the masters that a test can break one by one.
func (b *bench) lines(t *testing.T) ([]*line, locks.Locker) {
	t.Helper()
	var ls []*line
	var clients []*redis.Client
	for _, s := range b.Servers {
		l, c := &line{}, s.Client(t, nil)
		c.AddHook(l.hook())
		ls, clients = append(ls, l), append(clients, c)
	}
	return ls, b.lockerOn(t, clients, locks.Options{RetryEvery: retryEvery})
}

func testMastersOutOfReach(t *testing.T, b *bench) {
	to, l := b.lines(t)
	to[1].broken.Store(true)
	to[3].broken.Store(true)
	lease := b.acquire(t, l, long)
	require.NoError(t, lease.Release(t.Context()), "three of five are there")

	to[4].broken.Store(true)
	lease, err := l.Acquire(t.Context(), b.key, long)
	require.Nil(t, lease)
	require.ErrorIs(t, err, io.EOF)
	require.NotErrorIs(t, err, locks.ErrNotAcquired, "nobody knows what three of five did")
	eventually(t, "what two granted is given back", func() bool { return b.value(t) == "" && b.on(t)[0] == "" && b.on(t)[2] == "" })
}

// slow delays the replies of one master by a TTL and more.
func (b *bench) slow(t *testing.T, master int, ttl time.Duration) locks.Locker {
	t.Helper()
	var clients []*redis.Client
	for i, s := range b.Servers {
		c := s.Client(t, nil)
		if i == master {
			c.AddHook(redistest.Hook(func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
				err := next(ctx, cmd)
				select {
				case <-time.After(ttl * 3 / 2):
					return err
				case <-ctx.Done():
					cmd.SetErr(ctx.Err())
					return ctx.Err()
				}
			}))
		}
		clients = append(clients, c)
	}
	return b.lockerOn(t, clients, locks.Options{RetryEvery: retryEvery})
}

func testSlowMaster(t *testing.T, b *bench) {
	l := b.slow(t, 2, b.TTL)
	start := time.Now()
	lease := b.acquire(t, l, b.TTL)
	require.NoError(t, lease.Release(t.Context()))
	if b.Settle != nil {
		require.Less(t, time.Since(start), b.TTL, "the others have a majority")
	}
}

// testReleaseReachesAll: one master took the key, and its reply was lost.
func testReleaseReachesAll(t *testing.T, b *bench) {
	var clients []*redis.Client
	for i, s := range b.Servers {
		c := s.Client(t, nil)
		if i == 3 {
			c.AddHook(losingReplies(1))
		}
		clients = append(clients, c)
	}
	l := b.lockerOn(t, clients, locks.Options{RetryEvery: retryEvery})
	lease := b.acquire(t, l, long)
	eventually(t, "the fourth master has the key", func() bool { return b.on(t)[3] != "" })
	require.NoError(t, lease.Release(t.Context()))
	eventually(t, "no master has the key", func() bool {
		for _, v := range b.on(t) {
			if v != "" {
				return false
			}
		}
		return true
	})
}

// everywhere waits until all masters have the key.
func (b *bench) everywhere(t *testing.T) {
	t.Helper()
	eventually(t, "every master has the key", func() bool {
		for _, v := range b.on(t) {
			if v == "" {
				return false
			}
		}
		return true
	})
}

func testMinorityForgets(t *testing.T, b *bench) {
	lease := b.acquire(t, b.locker(t), b.TTL)
	b.everywhere(t)
	value := b.value(t)
	for _, c := range b.admins[:2] {
		require.NoError(t, c.Del(t.Context(), b.key).Err())
	}
	b.stays(t, value, 2*b.TTL)
	require.True(t, open(lease.Lost()))
	require.NoError(t, lease.Release(t.Context()))
}

func testMajorityForgets(t *testing.T, b *bench) {
	lease := b.acquire(t, b.locker(t), b.TTL)
	b.everywhere(t)
	for _, c := range b.admins[:3] {
		require.NoError(t, c.Del(t.Context(), b.key).Err())
	}
	lost := time.Now()
	await(t, lease.Lost(), "the loss of a key that a majority has forgotten")
	if b.Settle != nil {
		require.LessOrEqual(t, time.Since(lost), b.TTL/3, "the next renewal notices")
	}
}
