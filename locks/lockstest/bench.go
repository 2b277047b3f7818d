package lockstest

import (
	"context"
	"sync"
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

// bench is one test's kind, server and key.
type bench struct {
	Env
	kind  locks.Kind
	admin *redis.Client // looks at the server from outside of the locks
	key   string
}

func newBench(t *testing.T, k locks.Kind, e Env) *bench {
	return &bench{Env: e, kind: k, admin: e.Server.Client(t, nil), key: "lock of " + t.Name()}
}

// locker makes one instance's locker, with a client of its own. It is closed
// when t ends.
func (b *bench) locker(t *testing.T, hooks ...redis.Hook) locks.Locker {
	return b.lockerWith(t, locks.Options{RetryEvery: retryEvery}, hooks...)
}

func (b *bench) lockerWith(t *testing.T, opts locks.Options, hooks ...redis.Hook) locks.Locker {
	t.Helper()
	return b.lockerOn(t, b.Server.Client(t, nil), opts, hooks...)
}

func (b *bench) lockerOn(t *testing.T, c *redis.Client, opts locks.Options, hooks ...redis.Hook) locks.Locker {
	t.Helper()
	for _, h := range hooks {
		c.AddHook(h)
	}
	l, err := b.kind.New(t.Context(), locks.Clients{Shape: cluster.Single, Redis: c, Addrs: []string{c.Options().Addr}}, opts)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close()) })
	return l
}

// acquire takes the bench's key, which must be possible.
func (b *bench) acquire(t *testing.T, l locks.Locker, ttl time.Duration) locks.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	lease, err := l.Acquire(ctx, b.key, ttl)
	require.NoError(t, err)
	require.NotNil(t, lease)
	return lease
}

// value is what the key holds, "" when there is none.
func (b *bench) value(t *testing.T) string {
	t.Helper()
	v, err := b.admin.Get(t.Context(), b.key).Result()
	if err == redis.Nil {
		return ""
	}
	require.NoError(t, err)
	return v
}

// pttl is the key's time to live: -1 without an expiry, -2 without a key.
func (b *bench) pttl(t *testing.T) time.Duration {
	t.Helper()
	d, err := b.admin.PTTL(t.Context(), b.key).Result()
	require.NoError(t, err)
	return d
}

// put gives the key to someone outside of the test's lockers.
func (b *bench) put(t *testing.T, value string, ttl time.Duration) {
	t.Helper()
	require.NoError(t, b.admin.Set(t.Context(), b.key, value, ttl).Err())
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
		require.Positive(t, left, "the key has no expiry")
		require.LessOrEqual(t, left, last, "something prolonged the key")
		require.True(t, time.Now().Before(deadline), "the key doesn't expire")
		last = left
		time.Sleep(ttl / 50)
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

// tap counts a client's commands on their replies.
type tap struct {
	mu    sync.Mutex
	names []string
	nth   map[int]chan struct{}
}

// hook returns the hook by which t listens.
func (p *tap) hook() redis.Hook {
	return redistest.Hook(func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
		err := next(ctx, cmd)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.names = append(p.names, cmd.Name())
		if c := p.nth[len(p.names)]; c != nil {
			close(c)
		}
		return err
	})
}

// seen are the names of the commands that were answered.
func (p *tap) seen() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.names...)
}

// after is closed when n commands were answered. Ask before the first is sent.
func (p *tap) after(n int) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.nth == nil {
		p.nth = map[int]chan struct{}{}
	}
	p.nth[n] = make(chan struct{})
	return p.nth[n]
}
