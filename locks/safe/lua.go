package safe

import (
	"context"
	_ "embed"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed release.lua
var releaseText string

//go:embed renew.lua
var renewText string

// lua compares in scripts, which every server runs.
type lua struct{ prolongs, removes *redis.Script }

func newLua() lua {
	return lua{prolongs: redis.NewScript(renewText), removes: redis.NewScript(releaseText)}
}

func (l lua) prolong(ctx context.Context, c redis.UniversalClient, key, token string, ttl time.Duration) (bool, error) {
	n, err := l.prolongs.Run(ctx, c, []string{key}, token, ttl.Milliseconds()).Int()
	return n == 1, err
}

func (l lua) remove(ctx context.Context, c redis.UniversalClient, key, token string) (bool, error) {
	n, err := l.removes.Run(ctx, c, []string{key}, token).Int()
	return n == 1, err
}
