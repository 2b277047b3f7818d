package safe

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

func nativeCAS() locks.Kind {
	return scheme{
		name: "native-cas", renews: true,
		by: func(ctx context.Context, c redis.UniversalClient) (compare, error) { return findNative(ctx, c) },
	}.kind(locks.Kind{
		Summary: "as lua-watchdog, with the server's own compare-and-set and compare-and-delete instead of Lua",
		Origin:  "SET IFEQ and DELEX IFEQ of Redis 8.4, DELIFEQ of Valkey 9",
		Needs:   []cluster.Capability{cluster.NativeCAS},
	})
}

// native compares with SET IFEQ, and deletes with whichever command the server
// has for that.
type native struct {
	remover func(key, token string) []any
}

var removers = []func(key, token string) []any{
	func(key, token string) []any { return []any{"delex", key, "ifeq", token} }, // Redis
	func(key, token string) []any { return []any{"delifeq", key, token} },       // Valkey
}

// findNative tries the ways to remove on a key that nobody has.
func findNative(ctx context.Context, c redis.UniversalClient) (native, error) {
	var answers []error
	for _, r := range removers {
		n := native{remover: r}
		_, err := n.remove(ctx, c, "oversell:probe:"+rand.Text(), rand.Text())
		if err == nil {
			return n, nil
		}
		if !locks.Refused(err) {
			return native{}, fmt.Errorf("ask the server for its compare-and-delete: %w", err)
		}
		answers = append(answers, err)
	}
	return native{}, fmt.Errorf("the server has no compare-and-delete: %w", errors.Join(answers...))
}

func (native) prolong(ctx context.Context, c redis.UniversalClient, key, token string, ttl time.Duration) (bool, error) {
	cmd := redis.NewBoolCmd(ctx, "set", key, token, "ifeq", token, "px", ttl.Milliseconds())
	_ = c.Process(ctx, cmd)
	return cmd.Result()
}

func (n native) remove(ctx context.Context, c redis.UniversalClient, key, token string) (bool, error) {
	removed, err := c.Do(ctx, n.remover(key, token)...).Int()
	return removed == 1, err
}
