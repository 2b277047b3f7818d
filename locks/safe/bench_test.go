package safe_test

import (
	"context"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/internal/redistest"
	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/locks/safe"
)

const (
	key = "lock"
	ttl = 30 * time.Second
)

// command is what a hook is told of a command. EVALSHA and the EVAL that
// follows when the server doesn't know the script count as one.
type command struct {
	what string // "set", "renew", "release"
	nth  int    // 1, 2, ... of that kind
	at   time.Duration
}

// bench is one bubble: a miniredis, a clock that starts at 0, and one locker
// whose commands a test can meddle with.
type bench struct {
	server *redistest.Server
	locker locks.Locker
	admin  *redis.Client
	start  time.Time

	mu       sync.Mutex
	commands []command
}

// meddle is called instead of a command; send sends it.
type meddle func(c command, send func() error) error

// bubble runs test on a fake clock, under the kind of that name.
func bubble(t *testing.T, kind string, m meddle, test func(t *testing.T, b *bench)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := redistest.Mini(t)
		b := &bench{server: s, admin: s.Client(t, nil), start: time.Now()}
		client := s.Client(t, nil)
		client.AddHook(b.hook(m))
		b.locker = newLocker(t, kind, client)
		t.Cleanup(func() { require.NoError(t, b.locker.Close()) })
		test(t, b)
	})
}

func newLocker(t *testing.T, kind string, c *redis.Client) locks.Locker {
	t.Helper()
	for _, k := range safe.All() {
		if k.Name == kind {
			l, err := k.New(t.Context(), locks.Clients{Shape: cluster.Single, Redis: c}, locks.Options{})
			require.NoError(t, err)
			return l
		}
	}
	require.FailNow(t, "no such kind", kind)
	return nil
}

func (b *bench) hook(m meddle) redis.Hook {
	return redistest.Hook(func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
		send := func() error { return next(ctx, cmd) }
		if cmd.Name() == "eval" || m == nil {
			return send()
		}
		return m(b.note(cmd), send)
	})
}

// note tells what cmd is for by the number of its arguments: renew has a TTL.
func (b *bench) note(cmd redis.Cmder) command {
	c := command{what: cmd.Name(), nth: 1, at: time.Since(b.start)}
	if c.what == "evalsha" {
		c.what = "release"
		if len(cmd.Args()) == 6 {
			c.what = "renew"
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, o := range b.commands {
		if o.what == c.what {
			c.nth++
		}
	}
	b.commands = append(b.commands, c)
	return c
}

// times are when the commands of that kind were sent.
func (b *bench) times(what string) []time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	var at []time.Duration
	for _, c := range b.commands {
		if c.what == what {
			at = append(at, c.at)
		}
	}
	return at
}

func (b *bench) now() time.Duration { return time.Since(b.start) }

// sleepUntil lets the fake clock run.
func (b *bench) sleepUntil(at time.Duration) {
	time.Sleep(at - b.now())
	synctest.Wait()
}

func (b *bench) acquire(t *testing.T) locks.Lease {
	t.Helper()
	lease, err := b.locker.Acquire(t.Context(), key, ttl)
	require.NoError(t, err)
	return lease
}

// held reports whether the server has the key.
func (b *bench) held(t *testing.T) bool {
	t.Helper()
	n, err := b.admin.Exists(t.Context(), key).Result()
	require.NoError(t, err)
	return n == 1
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// pass meddles with nothing: the commands are noted.
func pass(_ command, send func() error) error { return send() }

// lose lets a command through and loses the reply.
func lose(send func() error) error {
	_ = send()
	return io.EOF
}
