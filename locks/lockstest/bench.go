package lockstest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/internal/redistest"
	"github.com/oversell/oversell/locks"
)

const (
	// long is a TTL that never ends during a test.
	long = time.Hour
	// patience bounds waiting for what must come. It ends only tests that fail.
	patience = time.Minute
	// retryEvery keeps tests short.
	retryEvery = 2 * time.Millisecond
)

// bench is one test's kind, servers and key.
type bench struct {
	Env
	kind   locks.Kind
	admins []*redis.Client // look at the servers from outside of the locks
	key    string
}

func newBench(t *testing.T, k locks.Kind, e Env) *bench {
	b := &bench{Env: e, kind: k, key: "lock of " + t.Name()}
	if k.KeyForm != nil {
		b.key = k.KeyForm(b.key)
	}
	for _, s := range e.Servers {
		b.admins = append(b.admins, s.Client(t, nil))
	}
	return b
}

// nodes is on how many servers the key is.
func (b *bench) nodes() int { return len(b.Servers) }

// locker makes one instance's locker, with clients of its own. It is closed
// when t ends.
func (b *bench) locker(t *testing.T, hooks ...redis.Hook) locks.Locker {
	return b.lockerWith(t, locks.Options{RetryEvery: retryEvery}, hooks...)
}

func (b *bench) lockerWith(t *testing.T, opts locks.Options, hooks ...redis.Hook) locks.Locker {
	t.Helper()
	var clients []*redis.Client
	for _, s := range b.Servers {
		clients = append(clients, s.Client(t, nil))
	}
	return b.lockerOn(t, clients, opts, hooks...)
}

func (b *bench) lockerOn(t *testing.T, clients []*redis.Client, opts locks.Options, hooks ...redis.Hook) locks.Locker {
	t.Helper()
	l, err := b.kind.New(t.Context(), clientsOf(b.Servers, clients), opts)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close()) })
	// Only now: what a kind asks its servers to begin with is no part of a test.
	for _, c := range clients {
		for _, h := range hooks {
			c.AddHook(h)
		}
	}
	return l
}

// clientsOf is what an instance gets: of five servers, independent masters.
func clientsOf(servers []*redistest.Server, clients []*redis.Client) locks.Clients {
	c := locks.Clients{Shape: cluster.Single}
	dial := map[string]*redistest.Server{}
	for i, s := range servers {
		addr := fmt.Sprintf("server-%d:6379", i+1)
		c.Addrs = append(c.Addrs, addr)
		dial[addr] = s
	}
	c.Dial = func(ctx context.Context, _, addr string) (net.Conn, error) { return dial[addr].Dial(ctx) }
	if len(clients) == 1 {
		c.Redis = clients[0]
		return c
	}
	c.Shape = cluster.Quorum
	for _, m := range clients {
		c.Masters = append(c.Masters, m)
	}
	return c
}

// acquire takes the bench's key, which must be possible. On a real server of a
// busy machine an answer may come too late for a lock's own time-out: then the
// outcome is unknown, and the buyer comes back, as in the shop.
func (b *bench) acquire(t *testing.T, l locks.Locker, ttl time.Duration) locks.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	lease, err := l.Acquire(ctx, b.key, ttl)
	for late(err) && b.Settle == nil && ctx.Err() == nil {
		lease, err = l.Acquire(ctx, b.key, ttl)
	}
	require.NoError(t, err)
	require.NotNil(t, lease)
	return lease
}

// late reports whether a connection's deadline ended a command.
func late(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// value is what the key holds on a majority of the servers, "" when there is
// no such thing.
func (b *bench) value(t *testing.T) string {
	t.Helper()
	on := map[string]int{}
	for _, c := range b.admins {
		v := valueOn(t, c, b.key)
		if on[v]++; on[v] > len(b.admins)/2 {
			return v
		}
	}
	return ""
}

// valueOn is what one server holds. Tair's keys with a version are of a type
// of their own.
func valueOn(t *testing.T, c *redis.Client, key string) string {
	t.Helper()
	v, err := c.Get(t.Context(), key).Result()
	if err != nil && strings.HasPrefix(err.Error(), "WRONGTYPE") {
		var parts []any
		if parts, err = c.Do(t.Context(), "exget", key).Slice(); err == nil {
			v = fmt.Sprint(parts[0])
		}
	}
	if err == redis.Nil {
		return ""
	}
	require.NoError(t, err)
	return v
}

// pttl is for how long a majority of the servers has the key: -1 without an
// expiry, -2 without a key.
func (b *bench) pttl(t *testing.T) time.Duration {
	t.Helper()
	var all []time.Duration
	for _, c := range b.admins {
		d, err := c.PTTL(t.Context(), b.key).Result()
		require.NoError(t, err)
		if d == -1 {
			d = math.MaxInt64
		}
		all = append(all, d)
	}
	slices.Sort(all)
	if d := all[len(all)/2]; d != math.MaxInt64 {
		return d
	}
	return -1
}

// put gives the key to someone outside of the test's lockers.
func (b *bench) put(t *testing.T, value string, ttl time.Duration) {
	t.Helper()
	for _, c := range b.admins {
		require.NoError(t, c.Set(t.Context(), b.key, value, ttl).Err())
	}
}

// del takes the key away, as when it expires.
func (b *bench) del(t *testing.T) {
	t.Helper()
	for _, c := range b.admins {
		require.NoError(t, c.Del(t.Context(), b.key).Err())
	}
}

// falls requires that the key expires and that nothing prolongs it till then.
func (b *bench) falls(t *testing.T, ttl time.Duration) {
	t.Helper()
	last := b.pttl(t)
	for deadline := time.Now().Add(ttl + patience); ; {
		left := b.pttl(t)
		if left == -2 {
			return
		}
		require.GreaterOrEqual(t, left, time.Duration(0), "the key has no expiry")
		require.LessOrEqual(t, left, last, "something prolonged the key")
		require.True(t, time.Now().Before(deadline), "the key doesn't expire")
		last = left
		time.Sleep(ttl / 50)
	}
}

// stays requires that the key is held for that long.
func (b *bench) stays(t *testing.T, value string, d time.Duration) {
	t.Helper()
	for until := time.Now().Add(d); time.Now().Before(until); time.Sleep(b.TTL / 50) {
		require.Equal(t, value, b.value(t), "the key is held")
	}
}

// await requires that c is closed in time.
func await[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case v := <-c:
		return v
	case <-timeout.C:
		require.FailNow(t, "it never came: "+what)
		panic("unreachable")
	}
}

// open reports whether nothing was sent on c, and c isn't closed.
func open[T any](c <-chan T) bool {
	select {
	case <-c:
		return false
	default:
		return true
	}
}

// got is what one Acquire returned.
type got struct {
	lease locks.Lease
	err   error
}

// acquiring begins to take the bench's key.
func (b *bench) acquiring(ctx context.Context, l locks.Locker, ttl time.Duration) <-chan got {
	c := make(chan got, 1)
	go func() {
		lease, err := l.Acquire(ctx, b.key, ttl)
		c <- got{lease, err}
	}()
	return c
}
