package redisnode

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/oversell/oversell/cluster"
)

// Roles as servers name them in their answer to ROLE.
const (
	master  = "master"
	replica = "slave"
)

// Role asks n what it is now: "master", "slave" or "sentinel".
func Role(ctx context.Context, n cluster.Node) (string, error) {
	reply, err := Do(ctx, n, "ROLE")
	if err != nil {
		return "", err
	}
	if parts, ok := reply.([]any); ok && len(parts) > 0 {
		if role, ok := parts[0].(string); ok {
			return role, nil
		}
	}
	return "", fmt.Errorf("ask %s for ROLE: unexpected reply %v", n.Name(), reply)
}

// AwaitLink returns once every replica says that its link to its master is up,
// or down. Both are only true of servers that are replicas now.
func AwaitLink(ctx context.Context, replicas []cluster.Node, up bool) error {
	want := "down"
	if up {
		want = "up"
	}
	for _, n := range replicas {
		err := Until(ctx, func(ctx context.Context) error {
			info, err := GetInfo(ctx, n, "replication")
			if err != nil {
				return err
			}
			if got := info["master_link_status"]; got != want {
				return fmt.Errorf("%s says role %s, master_link_status %q", n.Name(), info["role"], got)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("wait until the replication link of %s is %s: %w", n.Name(), want, err)
		}
	}
	return nil
}

// KeyState looks at a key without changing it: its value ("" when absent), and
// its time to live in milliseconds, -1 when it has none and -2 when there is no
// such key. Both are of the same instant, unless the key is one of Tair's with a
// version.
func KeyState(ctx context.Context, n cluster.Node, key string) (value string, pttl int64, err error) {
	err = With(ctx, n, func(ctx context.Context, c *redis.Client) error {
		var get *redis.StringCmd
		var ttl *redis.Cmd
		_, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error {
			get = p.Get(ctx, key)
			ttl = p.Do(ctx, "PTTL", key)
			return nil
		})
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		if pttl, err = ttl.Int64(); err != nil {
			return err
		}
		value, err = get.Result()
		return err
	})
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		value, pttl, err = versioned(ctx, n, key)
	}
	switch {
	case errors.Is(err, redis.Nil):
		// A key whose last millisecond is running may be gone for GET already.
		return "", -2, nil
	case err != nil:
		return "", 0, fmt.Errorf("look at the key %q on %s: %w", key, n.Name(), err)
	}
	return value, pttl, nil
}

// versioned looks at a key with a version, which GET can't read.
func versioned(ctx context.Context, n cluster.Node, key string) (value string, pttl int64, err error) {
	err = With(ctx, n, func(ctx context.Context, c *redis.Client) error {
		parts, err := c.Do(ctx, "EXGET", key).Slice()
		if err != nil {
			return err
		}
		value = fmt.Sprint(parts[0])
		pttl, err = c.Do(ctx, "PTTL", key).Int64()
		return err
	})
	return value, pttl, err
}
