package explore

import (
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/locks"
)

// folk is a lock as it is found in articles and in services.
type folk struct {
	name    string
	acquire func(ctx context.Context, c *redis.Client, key, value string, ttl time.Duration) (bool, error)
	release func(ctx context.Context, c *redis.Client, key, value string) (bool, error)
	draws   bool // values from the options' source: it goes by their order
	renew   func(ctx context.Context, c *redis.Client, key, value string, ttl time.Duration) error
}

func (f folk) kind() locks.Kind {
	return locks.Kind{
		Name: f.name, Topologies: []cluster.Shape{cluster.Single}, Renews: f.renew != nil,
		New: func(_ context.Context, c locks.Clients, o locks.Options) (locks.Locker, error) {
			return &folkLocker{folk: f, c: c.Redis.(*redis.Client), jitter: locks.NewJitter(o), source: o.Rand}, nil
		},
	}
}

type folkLocker struct {
	folk
	c      *redis.Client
	jitter *locks.Jitter
	source *mathrand.Rand
}

func (l *folkLocker) Close() error { return nil }

func (l *folkLocker) Acquire(ctx context.Context, key string, ttl time.Duration) (locks.Lease, error) {
	value := rand.Text()
	if l.draws {
		value = strconv.FormatUint(l.source.Uint64(), 36)
	}
	err := locks.Poll(ctx, key, l.jitter, func(ctx context.Context) (bool, error) { return l.acquire(ctx, l.c, key, value, ttl) })
	if err != nil {
		return nil, err
	}
	le := &folkLease{l: l, key: key, value: value, lost: make(chan struct{}), stop: make(chan struct{})}
	if l.renew != nil {
		go le.heartbeat(ttl)
	}
	return le, nil
}

type folkLease struct {
	l          *folkLocker
	key, value string
	lost, stop chan struct{}
}

func (le *folkLease) heartbeat(ttl time.Duration) {
	tick := time.NewTicker(ttl / 3)
	defer tick.Stop()
	for {
		select {
		case <-le.stop:
			return
		case <-tick.C:
			ctx, cancel := context.WithTimeout(context.Background(), ttl/3)
			err := le.l.renew(ctx, le.l.c, le.key, le.value, ttl)
			cancel()
			if errors.Is(err, locks.ErrNotHeld) {
				close(le.lost)
				return
			}
		}
	}
}

func (le *folkLease) Lost() <-chan struct{} { return le.lost }

func (le *folkLease) Release(ctx context.Context) error {
	close(le.stop)
	ok, err := le.l.release(ctx, le.l.c, le.key, le.value)
	if err == nil && !ok {
		err = locks.ErrNotHeld
	}
	return err
}

var (
	folkRelease = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`)
	folkRenew   = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) else return 0 end`)
	folkHash    = redis.NewScript(`if redis.call("exists", KEYS[1]) == 0 or redis.call("hexists", KEYS[1], ARGV[2]) == 1 then
		redis.call("hincrby", KEYS[1], ARGV[2], 1) redis.call("pexpire", KEYS[1], ARGV[1]) return -1 end return redis.call("pttl", KEYS[1])`)
	folkHashRelease = redis.NewScript(`if redis.call("hexists", KEYS[1], ARGV[1]) == 0 then return 0 end
		if redis.call("hincrby", KEYS[1], ARGV[1], -1) <= 0 then redis.call("del", KEYS[1]) end return 1`)
	folkQueue = redis.NewScript(`redis.call("zremrangebyscore", KEYS[2], "-inf", ARGV[3])
		redis.call("zadd", KEYS[2], "NX", ARGV[4], ARGV[1])
		if redis.call("zrange", KEYS[2], 0, 0)[1] ~= ARGV[1] then return 0 end
		if redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then redis.call("zrem", KEYS[2], ARGV[1]) return 1 end return 0`)
)

func yes(n int64, err error) (bool, error) { return n > 0, err }

func ownRelease(ctx context.Context, c *redis.Client, key, value string) (bool, error) {
	return yes(folkRelease.Run(ctx, c, []string{key}, value).Int64())
}

func setNX(ctx context.Context, c *redis.Client, key, value string, ttl time.Duration) (bool, error) {
	err := c.SetArgs(ctx, key, value, redis.SetArgs{Mode: "NX", TTL: ttl}).Err()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return err == nil, err
}

func folks() []folk {
	return []folk{
		{name: "timestamps", acquire: timestamps, release: func(ctx context.Context, c *redis.Client, key, _ string) (bool, error) {
			at, err := c.Get(ctx, key).Int64()
			if err != nil || time.Now().UnixMilli() > at {
				return false, ignoreNil(err)
			}
			return yes(c.Del(ctx, key).Result())
		}},
		{name: "hash", acquire: func(ctx context.Context, c *redis.Client, key, value string, ttl time.Duration) (bool, error) {
			left, err := folkHash.Run(ctx, c, []string{key}, ttl.Milliseconds(), value).Int64()
			return left < 0, err
		}, release: func(ctx context.Context, c *redis.Client, key, value string) (bool, error) {
			return yes(folkHashRelease.Run(ctx, c, []string{key}, value).Int64())
		}},
		{name: "incr", acquire: func(ctx context.Context, c *redis.Client, key, _ string, ttl time.Duration) (bool, error) {
			n, err := c.Incr(ctx, key).Result()
			if err != nil || n > 1 {
				return false, err
			}
			return c.PExpire(ctx, key, ttl).Result()
		}, release: func(ctx context.Context, c *redis.Client, key, _ string) (bool, error) {
			return yes(c.Del(ctx, key).Result())
		}},
		{name: "incr-decr", acquire: func(ctx context.Context, c *redis.Client, key, _ string, _ time.Duration) (bool, error) {
			n, err := c.Incr(ctx, key).Result()
			if err != nil || n == 1 {
				return err == nil, err
			}
			return false, c.Decr(ctx, key).Err()
		}, release: func(ctx context.Context, c *redis.Client, key, _ string) (bool, error) {
			return true, c.Decr(ctx, key).Err()
		}},
		{name: "watch", acquire: func(ctx context.Context, c *redis.Client, key, value string, ttl time.Duration) (bool, error) {
			return watched(ctx, c, key, "", func(p redis.Pipeliner) { p.Set(ctx, key, value, ttl) })
		}, release: func(ctx context.Context, c *redis.Client, key, value string) (bool, error) {
			return watched(ctx, c, key, value, func(p redis.Pipeliner) { p.Del(ctx, key) })
		}},
		{name: "heartbeat", acquire: setNX, release: ownRelease, renew: func(ctx context.Context, c *redis.Client, key, value string, ttl time.Duration) error {
			ok, err := yes(folkRenew.Run(ctx, c, []string{key}, value, ttl.Milliseconds()).Int64())
			if err == nil && !ok {
				err = locks.ErrNotHeld
			}
			return err
		}},
		{name: "pipelined", acquire: func(ctx context.Context, c *redis.Client, key, value string, ttl time.Duration) (bool, error) {
			p := c.Pipeline()
			set := p.SetArgs(ctx, key, value, redis.SetArgs{Mode: "NX"})
			p.PExpire(ctx, key, ttl)
			_, err := p.Exec(ctx)
			return set.Err() == nil, ignoreNil(err)
		}, release: ownRelease},
		{name: "queue", draws: true, acquire: func(ctx context.Context, c *redis.Client, key, value string, ttl time.Duration) (bool, error) {
			now := time.Now().UnixMilli()
			return yes(folkQueue.Run(ctx, c, []string{key, key + ":queue"}, value, ttl.Milliseconds(), now-4*ttl.Milliseconds(), now).Int64())
		}, release: ownRelease},
		{name: "sleeper", acquire: func(ctx context.Context, c *redis.Client, key, value string, ttl time.Duration) (bool, error) {
			for {
				if ok, err := setNX(ctx, c, key, value, ttl); ok || err != nil {
					return ok, err
				}
				time.Sleep(10 * time.Millisecond)
			}
		}, release: ownRelease},
		{name: "token", acquire: func(ctx context.Context, c *redis.Client, key, value string, ttl time.Duration) (bool, error) {
			if n, err := c.Incr(ctx, key+":token").Result(); err != nil || n == 0 {
				return false, err
			}
			return setNX(ctx, c, key, value, ttl)
		}, release: ownRelease},
	}
}

func ignoreNil(err error) error {
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return err
}

// timestamps keeps in the key when it expires, and takes over what has.
func timestamps(ctx context.Context, c *redis.Client, key, _ string, ttl time.Duration) (bool, error) {
	until := strconv.FormatInt(time.Now().Add(ttl).UnixMilli(), 10)
	if ok, err := setNX(ctx, c, key, until, 0); ok || err != nil {
		return ok, err
	}
	old, err := c.Get(ctx, key).Result()
	if err != nil {
		return false, ignoreNil(err)
	}
	if at, _ := strconv.ParseInt(old, 10, 64); at > time.Now().UnixMilli() {
		return false, nil
	}
	was, err := c.Do(ctx, "getset", key, until).Text()
	return was == old, ignoreNil(err)
}

// watched does something as long as key holds what it should, "" for nothing.
func watched(ctx context.Context, c *redis.Client, key, holds string, do func(redis.Pipeliner)) (did bool, err error) {
	err = c.Watch(ctx, func(tx *redis.Tx) error {
		is, err := tx.Get(ctx, key).Result()
		if err = ignoreNil(err); err != nil || is != holds {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			do(p)
			return nil
		})
		did = err == nil
		return err
	}, key)
	if errors.Is(err, redis.TxFailedErr) {
		return false, nil
	}
	return did, err
}

// Locks as people write them are explored like those that this project has: whatever of
// the reduction is left out, it comes to the same, and the hazards that break each are
// those that should.
func TestFolk(t *testing.T) {
	long(t)
	hazards := []string{"none", "slow-call", "crash", "lost-reply", "lost-command", "delay", "expiry", "restart", "failover", "eviction"}
	oversold := map[string][]string{ // under all others no schedule oversells
		"timestamps": {"slow-call", "lost-reply", "delay", "restart", "failover", "eviction"},
		"hash":       {"slow-call", "delay", "expiry", "restart", "failover", "eviction"},
		"watch":      {"slow-call", "delay", "expiry", "restart", "failover", "eviction"},
		"heartbeat":  {"delay", "expiry", "restart", "failover", "eviction"},
		"queue":      {"slow-call", "delay", "expiry", "restart", "failover", "eviction"},
		"sleeper":    {"slow-call", "delay", "expiry", "restart", "failover", "eviction"},
	}
	for _, f := range folks() {
		breaks, decided := oversold[f.name]
		if !decided {
			continue
		}
		for _, hazard := range hazards {
			t.Run(f.name+"/"+hazard, func(t *testing.T) {
				c := two(t, f.kind(), hazard)
				r := explored(t, c, Config{})
				require.True(t, r.Complete)
				require.Zero(t, r.Counts.Cut)
				require.Equal(t, slices.Contains(breaks, hazard), r.Counts.Oversold > 0)
				requireSame(t, explored(t, c, Config{noInfer: true}), r)
				if r.Counts.All < 300 {
					requireSame(t, explored(t, c, Config{Unreduced: true}), r)
				}
			})
		}
	}
}

// Where each attempt of a waiter changes something there is no end to what can happen.
// That is said, and what was found by then is found all the same.
func TestEndlessFolk(t *testing.T) {
	long(t)
	for _, f := range folks() {
		if !slices.Contains([]string{"incr", "incr-decr", "pipelined", "token"}, f.name) {
			continue
		}
		for _, hazard := range []string{"crash", "lost-command", "restart"} {
			t.Run(f.name+"/"+hazard, func(t *testing.T) {
				r := explored(t, two(t, f.kind(), hazard), Config{Budget: 500 * time.Millisecond})
				require.False(t, r.Complete)
				require.NotEmpty(t, r.Why)
				require.True(t, r.Counts.Unfinished)
				if hazard == "restart" {
					require.NotNil(t, r.Broke(Oversold))
				}
			})
		}
	}
}
