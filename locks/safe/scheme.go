package safe

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/result"
)

// scheme is what the kinds of this package differ in.
type scheme struct {
	name   string
	renews bool
	quorum bool // five independent masters instead of one server
	fenced bool
	// by finds out how the server compares.
	by func(ctx context.Context, c redis.UniversalClient) (compare, error)
	// enough is how many of n masters make a majority. Nil means more than half.
	enough func(n int) int
	// token draws what a claim is known by. Nil means rand.Text.
	token func() string
}

// always is for a compare that needs not look at the server first.
func always(by compare) func(context.Context, redis.UniversalClient) (compare, error) {
	return func(context.Context, redis.UniversalClient) (compare, error) { return by, nil }
}

// kind completes k, which says what s doesn't.
func (s scheme) kind(k locks.Kind) locks.Kind {
	k.Name, k.Fenced, k.Renews, k.New = s.name, s.fenced, s.renews, s.open
	k.Topologies = []cluster.Shape{cluster.Single, cluster.Sentinel}
	if s.quorum {
		k.Topologies = []cluster.Shape{cluster.Quorum}
	}
	k.Withstands = s.withstands()
	return k
}

func (s scheme) withstands() []result.Hazard {
	w := slices.Concat(locks.WithstoodByExpiry(), locks.WithstoodByOwnerCheck())
	if s.renews {
		w = slices.Concat(w, locks.WithstoodByRenewal(), locks.WithstoodByOwnClock())
	}
	if s.quorum {
		w = append(w, result.LostMinority)
	}
	if s.fenced {
		w = append(w, locks.WithstoodByFence()...)
	}
	if s.quorum && s.fenced {
		w = append(w, result.LostMajority)
	}
	return w
}

// open makes a locker on the clients of one instance.
func (s scheme) open(ctx context.Context, c locks.Clients, opts locks.Options) (locks.Locker, error) {
	l := &locker{jitter: locks.NewJitter(opts), renews: s.renews, life: locks.NewLife()}
	if s.token == nil {
		s.token = rand.Text
	}
	var err error
	if s.quorum {
		l.claim, err = s.onMajority(ctx, c.Masters, l.life)
	} else {
		l.claim, err = s.onOne(ctx, c.Redis)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return l, nil
}

// onOne returns what makes a claim on a single server.
func (s scheme) onOne(ctx context.Context, c redis.UniversalClient) (func(string, time.Duration) claim, error) {
	if c == nil {
		return nil, errors.New("the cluster has no one server to lock on")
	}
	by, err := s.by(ctx, c)
	if err != nil {
		return nil, err
	}
	return func(key string, ttl time.Duration) claim {
		return hold{client: c, by: by, key: key, token: s.token(), ttl: ttl}
	}, nil
}

// onMajority returns what makes a claim on independent masters.
func (s scheme) onMajority(ctx context.Context, masters []redis.UniversalClient, life *locks.Life) (func(string, time.Duration) claim, error) {
	if len(masters) < 3 {
		return nil, fmt.Errorf("the cluster has %d independent masters, and a majority takes 3 at least", len(masters))
	}
	by := make([]compare, len(masters))
	for i, c := range masters {
		var err error
		if by[i], err = s.by(ctx, c); err != nil {
			return nil, fmt.Errorf("master %d: %w", i+1, err)
		}
	}
	need := len(masters)/2 + 1
	if s.enough != nil {
		need = s.enough(len(masters))
	}
	return func(key string, ttl time.Duration) claim {
		q := &quorum{need: need, ttl: ttl, token: s.token, background: life, holds: make([]hold, len(masters))}
		for i, c := range masters {
			q.holds[i] = hold{client: c, by: by[i], key: key, ttl: ttl}
		}
		return q
	}, nil
}
