package safe

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/locks"
)

func tairCASCAD() locks.Kind {
	return scheme{name: "tair-cas-cad", renews: true, by: always(tair{})}.kind(locks.Kind{
		Summary: "as lua-watchdog, with CAS to renew and CAD to release",
		Origin:  "the commands on plain strings of Tair's TairString module",
		Needs:   []cluster.Capability{cluster.TairCAS},
	})
}

// tair compares by value, which is safe since no two claims have the same
// token. Both commands answer 1, 0 when the value differs, and -1 without a key.
type tair struct{}

func (tair) prolong(ctx context.Context, c redis.UniversalClient, key, token string, ttl time.Duration) (bool, error) {
	n, err := c.Do(ctx, "cas", key, token, token, "px", ttl.Milliseconds()).Int()
	return n == 1, err
}

func (tair) remove(ctx context.Context, c redis.UniversalClient, key, token string) (bool, error) {
	n, err := c.Do(ctx, "cad", key, token).Int()
	return n == 1, err
}
