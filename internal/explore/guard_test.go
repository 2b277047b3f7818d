package explore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/locks"
)

// bad is a lock made of one function.
type bad struct {
	c       locks.Clients
	acquire func(ctx context.Context, c locks.Clients, key string, ttl time.Duration) error
	close   func() error
}

func (b bad) Acquire(ctx context.Context, key string, ttl time.Duration) (locks.Lease, error) {
	if err := b.acquire(ctx, b.c, key, ttl); err != nil {
		return nil, err
	}
	return badLease{b, key}, nil
}

func (b bad) Close() error {
	if b.close != nil {
		return b.close()
	}
	return nil
}

type badLease struct {
	b   bad
	key string
}

func (badLease) Lost() <-chan struct{} { return nil }

func (l badLease) Release(ctx context.Context) error { return l.b.c.Redis.Del(ctx, l.key).Err() }

func badKind(acquire func(ctx context.Context, c locks.Clients, key string, ttl time.Duration) error) locks.Kind {
	return locks.Kind{
		Name: "bad", Topologies: []cluster.Shape{cluster.Single},
		New: func(_ context.Context, c locks.Clients, _ locks.Options) (locks.Locker, error) {
			return bad{c: c, acquire: acquire}, nil
		},
	}
}

// grab takes the key as it should be done.
func grab(ctx context.Context, c locks.Clients, key string, ttl time.Duration) error {
	ok, err := c.Redis.SetNX(ctx, key, "somebody's", ttl).Result()
	if err == nil && !ok {
		return locks.ErrNotAcquired
	}
	return err
}

func fails(t *testing.T, k locks.Kind, hazards ...string) error {
	t.Helper()
	_, err := Explore(t.Context(), two(t, k, hazards...), Config{T: t, Workers: 2})
	require.Error(t, err)
	return err
}

// getsStuck is for locks that never come back: they are given a second.
func getsStuck(t *testing.T, k locks.Kind) error {
	t.Helper()
	_, err := Explore(t.Context(), two(t, k, "none"), Config{T: t, Workers: 2, StuckAfter: time.Second})
	require.Error(t, err)
	return err
}

func TestALockThatNeverGrants(t *testing.T) {
	err := fails(t, badKind(func(context.Context, locks.Clients, string, time.Duration) error {
		return errors.New("not today")
	}), "slow-call")
	require.ErrorContains(t, err, "never grants")
	require.ErrorContains(t, err, "not today")
}

func TestALockThatWaitsForEver(t *testing.T) {
	err := fails(t, badKind(func(ctx context.Context, _ locks.Clients, _ string, _ time.Duration) error {
		<-ctx.Done()
		return ctx.Err()
	}), "none")
	require.ErrorContains(t, err, "never grants")
}

func TestALockThatPanics(t *testing.T) {
	err := fails(t, badKind(func(context.Context, locks.Clients, string, time.Duration) error {
		panic("no such luck")
	}), "none")
	require.ErrorContains(t, err, "bad panicked: no such luck")
}

func TestALockThatSpins(t *testing.T) {
	var enough atomic.Bool
	defer enough.Store(true)
	err := getsStuck(t, badKind(func(context.Context, locks.Clients, string, time.Duration) error {
		for !enough.Load() {
		}
		return locks.ErrNotAcquired
	}))
	var stuck *StuckError
	require.ErrorAs(t, err, &stuck)
	require.Contains(t, stuck.Why, "spins")
	require.Contains(t, stuck.Stack, "TestALockThatSpins")
}

func TestALockThatDialsByItself(t *testing.T) {
	err := fails(t, badKind(func(ctx context.Context, c locks.Clients, key string, ttl time.Duration) error {
		conn, err := net.Dial("tcp", c.Addrs[0])
		if err != nil {
			return err
		}
		return conn.Close()
	}), "none")
	require.ErrorContains(t, err, "opens connections of its own")
	require.NotEmpty(t, hint.Of(err))
}

func TestALockThatWaitsForARealConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var accepted sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	accepted.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
		}
	})
	defer func() {
		l.Close()
		accepted.Wait()
		for _, c := range conns {
			c.Close()
		}
	}()
	err = getsStuck(t, badKind(func(context.Context, locks.Clients, string, time.Duration) error {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = conn.Read(make([]byte, 1))
		return err
	}))
	var stuck *StuckError
	require.ErrorAs(t, err, &stuck)
	require.Contains(t, stuck.Why, "real connection")
}

// A lock that asks what no schedule controls takes another way now and then.
func TestALockThatIsNotDeterministic(t *testing.T) {
	var n atomic.Int64
	err := fails(t, badKind(func(ctx context.Context, c locks.Clients, key string, ttl time.Duration) error {
		if n.Add(1)%7 == 0 {
			c.Redis.Get(ctx, "something else")
		}
		return grab(ctx, c, key, ttl)
	}), "expiry")
	var nd *NondeterminismError
	require.ErrorAs(t, err, &nd)
	require.NotEmpty(t, nd.Where)
	require.NotEmpty(t, nd.Schedule)
}

// A lock whose waiters write with each attempt, and which answers a refusal with an error
// of its own, makes for long schedules with many pauses, which are no reason to go
// another way.
func TestALockWhoseWaitersWrite(t *testing.T) {
	long(t)
	k := badKind(func(ctx context.Context, c locks.Clients, key string, ttl time.Duration) error {
		if err := c.Redis.Set(ctx, key+"-asked", 1, 2*ttl).Err(); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, ttl/2)
		defer cancel()
		return c.Redis.SetArgs(ctx, key, "mine", redis.SetArgs{Mode: "NX", TTL: ttl}).Err()
	})
	_, err := Explore(t.Context(), two(t, k, "expiry"), Config{T: t, Strategy: Exhaustive, Budget: 3 * time.Second})
	require.NoError(t, err)
}

// A lock that asks the machine for the time gets past the fake clock. What it
// sends is another thing each time, which is named.
func TestALockThatReadsTheMachinesClock(t *testing.T) {
	err := fails(t, badKind(func(ctx context.Context, c locks.Clients, key string, ttl time.Duration) error {
		var now syscall.Timeval
		if err := syscall.Gettimeofday(&now); err != nil {
			return err
		}
		c.Redis.Get(ctx, fmt.Sprint("t", now.Usec%1000))
		return grab(ctx, c, key, ttl)
	}), "expiry")
	var nd *NondeterminismError
	require.ErrorAs(t, err, &nd)
	require.Contains(t, nd.Now, "[GET t")
	require.Contains(t, nd.Before, "[GET t")
	require.NotEqual(t, nd.Before, nd.Now)
}

func TestALockThatEndsItsGoroutine(t *testing.T) {
	err := fails(t, badKind(func(context.Context, locks.Clients, string, time.Duration) error {
		runtime.Goexit()
		return nil
	}), "none")
	require.ErrorContains(t, err, "bad ended its buyer's goroutine")
}

// A lock that somebody waits for outside of the bubble can't be waited for in it.
func TestALockThatWaitsForSomethingOutside(t *testing.T) {
	outside := make(chan struct{})
	defer close(outside)
	err := getsStuck(t, badKind(func(context.Context, locks.Clients, string, time.Duration) error {
		<-outside
		return locks.ErrNotAcquired
	}))
	var stuck *StuckError
	require.ErrorAs(t, err, &stuck)
	require.Contains(t, stuck.Why, "made outside")
}

func TestALockThatSubscribes(t *testing.T) {
	err := fails(t, badKind(func(ctx context.Context, c locks.Clients, key string, _ time.Duration) error {
		return c.Redis.BLPop(ctx, time.Second, key).Err()
	}), "none")
	require.ErrorContains(t, err, "it uses BLPOP")
}

// A lock whose goroutines go on after Close is explored with new clients each time.
func TestALockThatLeavesGoroutinesBehind(t *testing.T) {
	k := badKind(func(ctx context.Context, c locks.Clients, key string, ttl time.Duration) error {
		if err := grab(ctx, c, key, ttl); err != nil {
			return err
		}
		go func() {
			for range 5 {
				time.Sleep(ttl)
				if c.Redis.PExpire(context.Background(), "other", ttl).Err() != nil {
					return
				}
			}
		}()
		return nil
	})
	r := explored(t, two(t, k, "slow-call"), Config{})
	require.True(t, r.LeavesOn)
	require.NotNil(t, r.Broke(Oversold))
}

func TestWhatIsNoCase(t *testing.T) {
	c := two(t, kind(t, "fenced"))
	for _, change := range []func(*Case){
		func(c *Case) { c.Buyers = 0 },
		func(c *Case) { c.Buyers = 9 },
		func(c *Case) { c.Stock = 0 },
		func(c *Case) { c.TTL = time.Millisecond },
		func(c *Case) { c.Kind.Topologies = []cluster.Shape{cluster.Quorum} },
	} {
		c := c
		change(&c)
		_, err := Explore(t.Context(), c, Config{T: t})
		require.Error(t, err)
	}
}
