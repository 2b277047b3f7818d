package peers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bsm/redislock"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/locks"
)

// redislockKind is bsm/redislock as its README shows it: Obtain without
// options, Release when done. With refresh, Refresh is called in between, which
// the README shows as well and leaves to the user.
func redislockKind(refresh bool) locks.Kind {
	k := locks.Kind{
		Name:       "redislock",
		Summary:    "bsm/redislock: Obtain and Release, without Refresh",
		Origin:     "github.com/bsm/redislock v0.9",
		Topologies: []cluster.Shape{cluster.Single, cluster.Sentinel},
		Renews:     refresh,
		Withstands: slices.Concat(locks.WithstoodByExpiry(), locks.WithstoodByOwnerCheck()),
	}
	if refresh {
		k.Name = "redislock-refresh"
		k.Summary = "bsm/redislock with Refresh every third of the TTL"
		k.Withstands = slices.Concat(k.Withstands, locks.WithstoodByRenewal(), locks.WithstoodByOwnClock())
	}
	k.New = func(_ context.Context, c locks.Clients, opts locks.Options) (locks.Locker, error) {
		if c.Redis == nil {
			return nil, errors.New(k.Name + ": the cluster has no one server to lock on")
		}
		client := redislock.New(c.Redis)
		return newLocker(opts, refresh, func(key string, ttl time.Duration) try {
			return &redislockTry{client: client, key: key, ttl: ttl}
		}), nil
	}
	return k
}

// redislockTry is one use of redislock. When Obtain fails, the library doesn't
// take back what it may have been granted: that falls at its TTL.
type redislockTry struct {
	client *redislock.Client
	key    string
	ttl    time.Duration
	lock   *redislock.Lock
}

func (t *redislockTry) once(ctx context.Context) (bool, error) {
	lock, err := t.client.Obtain(ctx, t.key, t.ttl, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return false, nil
	}
	t.lock = lock
	return err == nil, err
}

func (t *redislockTry) extend(ctx context.Context) (bool, error) {
	err := t.lock.Refresh(ctx, t.ttl, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return false, nil
	}
	return err == nil, err
}

func (t *redislockTry) release(ctx context.Context) error {
	err := t.lock.Release(ctx)
	if errors.Is(err, redislock.ErrLockNotHeld) {
		return fmt.Errorf("release %q: %w: %w", t.key, locks.ErrNotHeld, err)
	}
	if err != nil {
		return fmt.Errorf("release %q: %w", t.key, err)
	}
	return nil
}

// life is the TTL: the library keeps no time of its own.
func (t *redislockTry) life() time.Duration { return t.ttl }
