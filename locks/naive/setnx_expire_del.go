package naive

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/locks"
)

func setnxExpireDel() locks.Kind {
	return locks.Kind{
		Name:       "setnx-expire-del",
		Alias:      "naive",
		Summary:    "SETNX, then EXPIRE, and a DEL that doesn't ask whose lock it is",
		Origin:     "the flash sale that sold 137 of 100 units",
		Topologies: []cluster.Shape{cluster.Single, cluster.Sentinel},
		New:        newSetnxExpireDel,
	}
}

// setnxLocker has three defects, each kept on purpose. Between SETNX and EXPIRE
// a crash leaves a key that never expires. Nothing renews the key or notices
// that it has gone. And DEL removes whatever is there, so whoever outlives the
// TTL frees the lock of the one who came after.
type setnxLocker struct {
	client redis.UniversalClient
	jitter *locks.Jitter
}

func newSetnxExpireDel(_ context.Context, c locks.Clients, opts locks.Options) (locks.Locker, error) {
	if c.Redis == nil {
		return nil, errors.New("setnx-expire-del: the cluster has no one server to lock on")
	}
	return &setnxLocker{client: c.Redis, jitter: locks.NewJitter(opts)}, nil
}

// Acquire takes the key and its expiry in two round trips. When the second
// fails, the key stays behind, and the outcome is reported as unknown.
func (l *setnxLocker) Acquire(ctx context.Context, key string, ttl time.Duration) (locks.Lease, error) {
	ttl, err := locks.CheckTTL(key, ttl)
	if err != nil {
		return nil, err
	}
	value := rand.Text()
	err = locks.Poll(ctx, key, l.jitter, func(ctx context.Context) (bool, error) {
		// Spelled out, because go-redis's SetNX sends SET ... NX.
		cmd := redis.NewBoolCmd(ctx, "setnx", key, value)
		_ = l.client.Process(ctx, cmd)
		return cmd.Result()
	})
	if err != nil {
		return nil, err
	}
	if err := l.expire(ctx, key, ttl); err != nil {
		return nil, fmt.Errorf("acquire %q: took the key, but set no expiry: %w", key, err)
	}
	return &setnxLease{client: l.client, key: key}, nil
}

// expire uses EXPIRE as the incident's code did, and PEXPIRE for a TTL that
// isn't in whole seconds: EXPIRE knows no others.
func (l *setnxLocker) expire(ctx context.Context, key string, ttl time.Duration) error {
	if ttl%time.Second == 0 {
		return l.client.Expire(ctx, key, ttl).Err()
	}
	return l.client.PExpire(ctx, key, ttl).Err()
}

func (l *setnxLocker) Close() error { return nil }

type setnxLease struct {
	client redis.UniversalClient
	key    string
}

// Lost is nil: this lock never looks.
func (l *setnxLease) Lost() <-chan struct{} { return nil }

// Release deletes the key, whoever holds it. ErrNotHeld means that there was none.
func (l *setnxLease) Release(ctx context.Context) error {
	n, err := l.client.Del(ctx, l.key).Result()
	if err != nil {
		return fmt.Errorf("release %q: %w", l.key, err)
	}
	if n == 0 {
		return fmt.Errorf("release %q: %w", l.key, locks.ErrNotHeld)
	}
	return nil
}
