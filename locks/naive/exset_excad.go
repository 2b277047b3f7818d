package naive

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/locks"
)

// exsetEXCAD believes that a version tells whose the key is. The version of a
// new key is always 1, so whoever outlives the TTL has the version of the one
// who came after. Nothing renews the key, on the server or here.
func exsetEXCAD() locks.Kind {
	return scheme{
		name: "exset-excad",
		take: func(ctx context.Context, h hold) (bool, error) {
			err := h.client.Do(ctx, "exset", h.key, h.value, "nx", "px", h.ttl.Milliseconds(), "withversion").Err()
			if errors.Is(err, redis.Nil) {
				return false, nil
			}
			return err == nil, err
		},
		free: func(ctx context.Context, h hold) (bool, error) {
			n, err := h.client.Do(ctx, "excad", h.key, newVersion).Int()
			return n == 1, err
		},
	}.kind(locks.Kind{
		Summary:    "Tair's EXSET NX PX, and a release with EXCAD by the key's version",
		Origin:     "the last stage of the purchase service that oversold 3 units",
		Needs:      []cluster.Capability{cluster.TairEXSET},
		Withstands: locks.WithstoodByExpiry(),
	})
}

// newVersion is the version with which every key begins, and so what EXSET
// answers whenever it takes one.
const newVersion = 1
