package remote

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
	"github.com/oversell/oversell/internal/hint"
)

// ownKeys begins all of oversell's keys, whichever run they are of.
const ownKeys = "oversell:"

const (
	// batch is how many keys are asked for at a time.
	batch = 1000
	// mostKeys bounds the search for keys that aren't ours. A server on which
	// even that many of oversell's own have piled up needs a look by a person.
	mostKeys = 100_000
)

// examine makes sure that the server is what it should be and may be used.
func (n *node) examine(ctx context.Context, version string, nonempty bool) error {
	info, err := redisnode.GetInfo(ctx, n, "")
	if err != nil {
		return err
	}
	n.version, n.runID = info.Version(), info["run_id"]
	if n.version == "" {
		return fmt.Errorf("%s at %s: INFO tells no version", n.name, n.addr)
	}
	switch {
	case !matches(version, n.version):
		return hint.Wrap(fmt.Errorf("version %s was asked for, and %s is %s", version, n.addr, n.version),
			"leave --redis out: the servers of the %s backend are what they are", Name)
	case info["redis_mode"] == "cluster":
		return hint.Wrap(fmt.Errorf("%s is part of a Redis Cluster", n.addr), "oversell plays on single servers, on sentinels and on quorums")
	case n.role == cluster.RoleSentinel:
		return nil
	case n.role == cluster.RoleMaster && info["role"] != "master":
		return hint.Wrap(fmt.Errorf("%s is a replica, of %s:%s", n.addr, info["master_host"], info["master_port"]),
			"name its master, or its sentinels with --sentinel-url")
	case n.role == cluster.RoleReplica || nonempty:
		return nil
	}
	return n.refuseForeignKeys(ctx)
}

// matches reports whether a server is of the version asked for, such as "7.0"
// or "valkey-8.1"; "" is any.
func matches(version, server string) bool {
	if version == "" {
		return true
	}
	want := "Redis " + version
	if v, ok := strings.CutPrefix(version, "valkey-"); ok {
		want = "Valkey " + v
	}
	return server == want || strings.HasPrefix(server, want+".")
}

// refuseForeignKeys returns an error if the database holds keys that aren't
// oversell's, or too many keys to tell.
func (n *node) refuseForeignKeys(ctx context.Context) error {
	return redisnode.With(ctx, n, func(ctx context.Context, c *redis.Client) error {
		total, err := c.DBSize(ctx).Result()
		if err != nil {
			return fmt.Errorf("ask %s how many keys it holds: %w", n.addr, err)
		}
		if total == 0 {
			return nil
		}
		foreign, seen, err := findForeign(ctx, c)
		switch {
		case err != nil:
			return fmt.Errorf("look for other people's keys on %s: %w", n.addr, err)
		case foreign != "":
			return hint.Wrap(fmt.Errorf("%s holds keys that aren't oversell's: %d in database %d, such as %q", n.addr, total, n.db, foreign),
				"use a server that is there for tests, or another database of it (redis://host/1); --allow-nonempty goes ahead all the same")
		case seen >= mostKeys:
			return hint.Wrap(fmt.Errorf("%s holds %d keys, and the first %d are oversell's own", n.addr, total, seen),
				"remove them (redis-cli --scan --pattern 'oversell:*'), or go ahead with --allow-nonempty")
		}
		return nil
	})
}

// findForeign returns the first key that isn't oversell's, cut to a decent
// length, and how many keys it has looked at.
func findForeign(ctx context.Context, c *redis.Client) (foreign string, seen int, err error) {
	for cursor := uint64(0); ; {
		keys, next, err := c.Scan(ctx, cursor, "", batch).Result()
		if err != nil {
			return "", seen, err
		}
		for _, k := range keys {
			if !strings.HasPrefix(k, ownKeys) {
				return k[:min(len(k), shownKey)], seen, nil
			}
		}
		seen += len(keys)
		if cursor = next; cursor == 0 || seen >= mostKeys {
			return "", seen, nil
		}
	}
}

// shownKey is how much of a foreign key is shown.
const shownKey = 40

// removeTimeout bounds the removal of a run's keys.
const removeTimeout = 10 * time.Second

// removeKeys removes what the cluster's run has left below its prefix, also
// when ctx has ended.
func removeKeys(ctx context.Context, c *cluster.Cluster) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
	defer cancel()
	holders, err := masters(ctx, c)
	var errs []error
	for _, n := range holders {
		errs = append(errs, removeBelow(ctx, n, c.KeyPrefix))
	}
	if err = errors.Join(append(errs, err)...); err != nil {
		return hint.Wrap(fmt.Errorf("remove this run's keys: %w", err), "see why the server is gone; if it comes back with its data, remove there what begins with %s", c.KeyPrefix)
	}
	return nil
}

func removeBelow(ctx context.Context, n cluster.Node, prefix string) error {
	return redisnode.With(ctx, n, func(ctx context.Context, c *redis.Client) error {
		for cursor := uint64(0); ; {
			keys, next, err := c.Scan(ctx, cursor, literally(prefix)+"*", batch).Result()
			if err != nil {
				return err
			}
			if len(keys) > 0 {
				if err := c.Del(ctx, keys...).Err(); err != nil {
					return err
				}
			}
			if cursor = next; cursor == 0 {
				return nil
			}
		}
	})
}

// literally is a pattern that matches only the text itself.
func literally(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(text)
}
