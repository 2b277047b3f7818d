package naive

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/oversell/oversell/locks"
)

// getThenDel compares, and then deletes: in between the key can expire and
// become someone else's.
func getThenDel() locks.Kind {
	return scheme{
		name: "get-then-del", take: setNX,
		free: func(ctx context.Context, h hold) (bool, error) {
			value, err := h.client.Get(ctx, h.key).Result()
			switch {
			case errors.Is(err, redis.Nil):
				return false, nil
			case err != nil || value != h.value:
				return false, err
			}
			return del(ctx, h)
		},
	}.kind(locks.Kind{
		Summary:    "SET NX PX with a unique token, and a release that compares with GET and then sends DEL",
		Origin:     "the trap that the flash sale's post-mortem names second",
		Withstands: locks.WithstoodByExpiry(),
	})
}
