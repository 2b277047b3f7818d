package peers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-redsync/redsync/v4"
	rsredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/result"
)

// redsyncKind is go-redsync/redsync as its README shows it: a pool for each
// server, and a mutex with the default options but for its expiry (see redsyncOptions). With extend,
// Extend is called in between, which the library leaves to its user.
func redsyncKind(extend bool) locks.Kind {
	k := locks.Kind{
		Name:       "redsync",
		Summary:    "go-redsync/redsync on one server or five: Lock and Unlock, without Extend",
		Origin:     "github.com/go-redsync/redsync v4",
		Topologies: []cluster.Shape{cluster.Single, cluster.Sentinel, cluster.Quorum},
		Renews:     extend,
		Withstands: append(slices.Concat(locks.WithstoodByExpiry(), locks.WithstoodByOwnerCheck()), result.LostMinority),
	}
	if extend {
		k.Name = "redsync-extend"
		k.Summary = "go-redsync/redsync with Extend every third of the TTL"
		k.Withstands = slices.Concat(k.Withstands, locks.WithstoodByRenewal(), locks.WithstoodByOwnClock())
	}
	k.New = func(_ context.Context, c locks.Clients, opts locks.Options) (locks.Locker, error) {
		pools := redsyncPools(c)
		if len(pools) == 0 {
			return nil, errors.New(k.Name + ": the cluster has no server to lock on")
		}
		rs := redsync.New(pools...)
		return newLocker(opts, extend, func(key string, ttl time.Duration) try {
			return &redsyncTry{
				mutex: rs.NewMutex(key, redsyncOptions(ttl, len(pools))...), of: len(pools), key: key, ttl: ttl,
			}
		}), nil
	}
	return k
}

// redsyncPatience is how long redsync waits for one server with its default
// expiry of eight seconds: a twentieth of it.
const redsyncPatience = 400 * time.Millisecond

// redsyncOptions are the defaults but for the expiry. With one server and a TTL
// as short as in a run, a twentieth of it would be about this machine and not
// about the lock; then the library waits for as long as by default, and for half
// of the TTL at most. With five, a slow one mustn't use up what the key has to live.
func redsyncOptions(ttl time.Duration, servers int) []redsync.Option {
	options := []redsync.Option{redsync.WithExpiry(ttl)}
	if servers == 1 && ttl > 0 {
		options = append(options, redsync.WithTimeoutFactor(min(0.5, max(0.05, redsyncPatience.Seconds()/ttl.Seconds()))))
	}
	return options
}

func redsyncPools(c locks.Clients) []rsredis.Pool {
	clients := c.Masters
	if c.Redis != nil {
		clients = []redis.UniversalClient{c.Redis}
	}
	var pools []rsredis.Pool
	for _, client := range clients {
		pools = append(pools, goredis.NewPool(client))
	}
	return pools
}

// redsyncTry is one use of redsync. When a try fails, the library itself takes
// back what it was granted, and doesn't say whether it could.
type redsyncTry struct {
	mutex *redsync.Mutex
	of    int // servers
	key   string
	ttl   time.Duration
}

func (t *redsyncTry) majority() int { return t.of/2 + 1 }

// once is TryLock rather than Lock, whose error doesn't tell a lock that is
// taken from a server that didn't answer.
func (t *redsyncTry) once(ctx context.Context) (bool, error) {
	err := t.mutex.TryLockContext(ctx)
	if err == nil {
		return true, nil
	}
	a := redsyncAnswers(err)
	switch {
	case len(a.refused) >= t.majority():
		return false, a.refused[0]
	case len(a.lost) >= t.majority():
		return false, a.lost[0]
	}
	return false, nil
}

func (t *redsyncTry) extend(ctx context.Context) (bool, error) {
	ok, err := t.mutex.ExtendContext(ctx)
	if ok || err == nil {
		return ok, nil
	}
	if t.beaten(err) {
		return false, nil
	}
	return false, fmt.Errorf("extend %q: %w", t.key, err)
}

func (t *redsyncTry) release(ctx context.Context) error {
	ok, err := t.mutex.UnlockContext(ctx)
	switch {
	case ok:
		return nil
	case err == nil, t.beaten(err):
		return fmt.Errorf("release %q: %w", t.key, locks.ErrNotHeld)
	}
	return fmt.Errorf("release %q: %w", t.key, err)
}

// life is what Until of the library's mutex allows after each Lock or Extend.
func (t *redsyncTry) life() time.Duration { return t.ttl - t.ttl/100 }

// beaten reports whether so many servers say that the key isn't ours that the
// rest are no majority.
func (t *redsyncTry) beaten(err error) bool {
	return redsyncAnswers(err).notOurs > t.of-t.majority()
}

// answers are what the servers said, as the library's errors tell it.
type answers struct {
	notOurs       int // someone else's, or gone
	refused, lost []error
}

// redsyncAnswers takes the library's errors apart: one for each server that
// didn't say yes, joined, or one for all that have the key taken.
func redsyncAnswers(err error) answers {
	var a answers
	switch e := err.(type) {
	case *redsync.ErrTaken:
		a.notOurs = len(e.Nodes)
	case *redsync.ErrNodeTaken:
		a.notOurs = 1
	case *redsync.RedisError:
		if locks.Refused(e) {
			a.refused = append(a.refused, e)
		} else {
			a.lost = append(a.lost, e)
		}
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			b := redsyncAnswers(part)
			a.notOurs += b.notOurs
			a.refused, a.lost = append(a.refused, b.refused...), append(a.lost, b.lost...)
		}
	default:
		if errors.Is(err, redsync.ErrLockAlreadyExpired) {
			a.notOurs = 1
		}
	}
	return a
}
