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

// hold is what one acquirer has, or believes to have, on a key.
type hold struct {
	client redis.UniversalClient
	key    string
	value  string
	ttl    time.Duration // in whole milliseconds
}

// scheme is what the kinds of this package differ in.
type scheme struct {
	name  string
	value func() string // nil: one that nobody else has
	// take tries once; false means that somebody else has the key.
	take func(ctx context.Context, h hold) (bool, error)
	// free removes the key; false means that there was nothing to remove.
	free func(ctx context.Context, h hold) (bool, error)
	// failOpen takes an error of take for a yes.
	failOpen bool
	// renew is called every third of the TTL until it says false. Nil for a kind
	// that doesn't renew.
	renew func(ctx context.Context, d *dog) bool
	// leaky stops renewing only after a release that removed the key.
	leaky bool
}

// kind completes k, which says what s doesn't.
func (s scheme) kind(k locks.Kind) locks.Kind {
	k.Name, k.Renews = s.name, s.renew != nil
	k.Topologies = []cluster.Shape{cluster.Single, cluster.Sentinel}
	k.New = func(_ context.Context, c locks.Clients, opts locks.Options) (locks.Locker, error) {
		if c.Redis == nil {
			return nil, errors.New(s.name + ": the cluster has no one server to lock on")
		}
		return &locker{scheme: s, client: c.Redis, jitter: locks.NewJitter(opts), life: locks.NewLife()}, nil
	}
	return k
}

// locker is all kinds of this package. None of them looks after a key whose
// fate isn't known.
type locker struct {
	scheme
	client redis.UniversalClient
	jitter *locks.Jitter
	life   *locks.Life
}

func (l *locker) Acquire(ctx context.Context, key string, ttl time.Duration) (locks.Lease, error) {
	ttl, err := locks.CheckTTL(key, ttl)
	if err != nil {
		return nil, err
	}
	return l.life.Acquire(ctx, key, func(ctx context.Context) (locks.Lease, error) {
		h := hold{client: l.client, key: key, value: l.newValue(), ttl: ttl}
		err := locks.Poll(ctx, key, l.jitter, func(ctx context.Context) (bool, error) {
			ok, err := l.take(ctx, h)
			if err != nil && l.failOpen {
				return true, nil
			}
			return ok, err
		})
		if err != nil {
			return nil, err
		}
		le := &lease{scheme: l.scheme, hold: h}
		if l.renew != nil {
			le.dog = startDog(l.life, h, l.renew)
		}
		return le, nil
	})
}

func (l *locker) newValue() string {
	if l.value == nil {
		return rand.Text()
	}
	return l.value()
}

// Close ends waiting and renewing, and waits for both.
func (l *locker) Close() error {
	l.life.End()
	return nil
}

type lease struct {
	scheme
	hold hold
	dog  *dog // nil when the kind doesn't renew
}

// Lost is nil for a kind that doesn't renew: it never looks.
func (l *lease) Lost() <-chan struct{} {
	if l.dog == nil {
		return nil
	}
	return l.dog.lost
}

// Release frees the key in the kind's own way. ErrNotHeld means that there was
// nothing to remove.
func (l *lease) Release(ctx context.Context) error {
	if l.dog != nil && !l.leaky {
		l.dog.end()
	}
	removed, err := l.free(ctx, l.hold)
	if err != nil {
		return fmt.Errorf("release %q: %w", l.hold.key, err)
	}
	if !removed {
		return fmt.Errorf("release %q: %w", l.hold.key, locks.ErrNotHeld)
	}
	if l.dog != nil {
		l.dog.end()
	}
	return nil
}
