package faults

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
	"github.com/oversell/oversell/result"
)

// fillerPrefix begins the names of the keys that fill a server's memory.
const fillerPrefix = "oversell:filler:"

// fillerSize, in bytes, and fillerMost bound how much is written: 256 MB.
const (
	fillerSize = 256 << 10
	fillerMost = 1024
)

// Evict fills the server's memory until it evicts the lock's key, as a cache
// that shares a server with locks does.
type Evict struct{}

// Name implements Fault.
func (Evict) Name() string { return "evict" }

// Summary implements Fault.
func (Evict) Summary() string {
	return "maxmemory with a policy that evicts keys with a TTL, and a full server"
}

// Available implements Fault: servers in this process have no memory limit,
// and those of others keep theirs.
func (Evict) Available(t Target) error { return needsMemoryLimit(t) }

// Inject returns once the key is gone.
func (f Evict) Inject(ctx context.Context, t Target) (result.Evidence, Heal, error) {
	n := t.Cluster.Nodes[0]
	written := 0
	err := redisnode.With(ctx, n, func(ctx context.Context, c *redis.Client) error {
		// Only keys with a TTL may go, and the lock's is the only one: filler has none.
		if err := limitMemory(ctx, c, "volatile-lru"); err != nil {
			return err
		}
		for ; written < fillerMost; written++ {
			held, err := c.Exists(ctx, t.Plan.Key).Result()
			if err != nil || held == 0 {
				return err
			}
			if err := fill(ctx, c, written); err != nil && !strings.HasPrefix(err.Error(), "OOM") {
				return err
			}
		}
		return fmt.Errorf("the key survived %d MB", fillerMost*fillerSize>>20)
	})
	heal := func(ctx context.Context) (string, error) { return freeMemory(ctx, n, written) }
	if err != nil {
		_, _ = heal(context.WithoutCancel(ctx))
		return result.Evidence{}, nil, fmt.Errorf("fill %s: %w", n.Name(), err)
	}
	noteLoss(t, n)
	// Room again at once: the hazard is the lost key and not a full server.
	how, err := heal(ctx)
	if err != nil {
		return result.Evidence{}, nil, err
	}
	return proof(f, t, "%s evicted the key after %d kB of other data; %s", n.Name(), written*fillerSize>>10, how), nil, nil
}

// FillMemory fills the server's memory without letting it evict anything:
// until it is healed, it refuses to write.
type FillMemory struct{}

// Name implements Fault.
func (FillMemory) Name() string { return "fill-memory" }

// Summary implements Fault.
func (FillMemory) Summary() string {
	return "maxmemory without eviction, and a full server: writes are refused"
}

// Available implements Fault: as with Evict.
func (FillMemory) Available(t Target) error { return needsMemoryLimit(t) }

// Inject returns once the server refuses to write anything.
func (f FillMemory) Inject(ctx context.Context, t Target) (result.Evidence, Heal, error) {
	n := t.Cluster.Nodes[0]
	refusal := ""
	err := redisnode.With(ctx, n, func(ctx context.Context, c *redis.Client) error {
		if err := c.ConfigSet(ctx, "maxmemory-policy", "noeviction").Err(); err != nil {
			return err
		}
		if err := c.ConfigSet(ctx, "maxmemory", "1").Err(); err != nil {
			return err
		}
		err := c.Set(ctx, fmt.Sprint(fillerPrefix, 0), "x", 0).Err()
		if err == nil || !strings.HasPrefix(err.Error(), "OOM") {
			return fmt.Errorf("a SET wasn't refused but answered %v", err)
		}
		refusal = err.Error()
		return nil
	})
	heal := func(ctx context.Context) (string, error) { return freeMemory(ctx, n, 0) }
	if err != nil {
		_, _ = heal(context.WithoutCancel(ctx))
		return result.Evidence{}, nil, fmt.Errorf("fill %s: %w", n.Name(), err)
	}
	return proof(f, t, "%s refused to write: %s", n.Name(), refusal), heal, nil
}

func needsMemoryLimit(t Target) error {
	if t.Cluster != nil && t.Cluster.Simulated {
		return fmt.Errorf("a memory limit %w", ErrNotReal)
	}
	return ours(t, "a memory limit")
}

// limitMemory leaves the server a little room above what it uses now.
func limitMemory(ctx context.Context, c *redis.Client, policy string) error {
	info, err := c.Info(ctx, "memory").Result()
	if err != nil {
		return err
	}
	used, ok := redisnode.ParseInfo(info).Int("used_memory")
	if !ok {
		return fmt.Errorf("INFO memory has no used_memory")
	}
	if err := c.ConfigSet(ctx, "maxmemory-policy", policy).Err(); err != nil {
		return err
	}
	return c.ConfigSet(ctx, "maxmemory", fmt.Sprint(used+4*fillerSize)).Err()
}

func fill(ctx context.Context, c *redis.Client, i int) error {
	return c.Set(ctx, fmt.Sprint(fillerPrefix, i), strings.Repeat("x", fillerSize), 0).Err()
}

// freeMemory lifts the limit and removes the filler.
func freeMemory(ctx context.Context, n cluster.Node, written int) (string, error) {
	err := redisnode.With(ctx, n, func(ctx context.Context, c *redis.Client) error {
		if err := c.ConfigSet(ctx, "maxmemory", "0").Err(); err != nil {
			return err
		}
		for i := range written + 1 {
			if err := c.Unlink(ctx, fmt.Sprint(fillerPrefix, i)).Err(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("free the memory of %s: %w", n.Name(), err)
	}
	return n.Name() + " has room again", nil
}
