package safe

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/oversell/oversell/locks"
)

// lua compares in scripts, which every server runs.
type lua struct{ prolongs, removes *redis.Script }

func newLua() lua {
	return lua{prolongs: locks.RenewScript(), removes: locks.ReleaseScript()}
}

func (l lua) prolong(ctx context.Context, c redis.UniversalClient, key, token string, ttl time.Duration) (bool, error) {
	n, err := l.prolongs.Run(ctx, c, []string{key}, token, ttl.Milliseconds()).Int()
	return n == 1, err
}

func (l lua) remove(ctx context.Context, c redis.UniversalClient, key, token string) (bool, error) {
	n, err := l.removes.Run(ctx, c, []string{key}, token).Int()
	return n == 1, err
}
