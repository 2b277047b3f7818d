package faults

import (
	"context"
	"errors"
	"fmt"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
	"github.com/oversell/oversell/result"
	"github.com/oversell/oversell/wire"
)

// CutReplication cuts the master off from its replicas, while clients and
// sentinels stay connected to all of them.
type CutReplication struct{}

// Name implements Fault.
func (CutReplication) Name() string { return "cut-replication" }

// Summary implements Fault.
func (CutReplication) Summary() string { return "the replicas hear nothing more of their master" }

// Available implements Fault.
func (CutReplication) Available(t Target) error {
	_, err := masterAs[cluster.Isolator](t.Cluster, "replication can be cut")
	return err
}

// Inject returns once every replica has lost its link. Nobody can acquire
// meanwhile, and the cut falls into a moment at which neither the master nor a
// replica has the key: what the replicas miss is the next acquisition, and
// they keep no earlier one.
func (f CutReplication) Inject(ctx context.Context, t Target) (result.Evidence, Heal, error) {
	master, err := masterAs[cluster.Isolator](t.Cluster, "replication can be cut")
	if err != nil {
		return result.Evidence{}, nil, err
	}
	acquires := t.Rules.Add(wire.Match{Key: t.Plan.Key, Role: wire.Acquire, Times: wire.Always}, wire.Hold())
	defer acquires.Remove()
	if err := awaitFree(ctx, t); err != nil {
		return result.Evidence{}, nil, fmt.Errorf("wait for the key to be free: %w", err)
	}
	how, err := master.CutPeers(ctx)
	if err != nil {
		return result.Evidence{}, nil, fmt.Errorf("cut replication: %w", err)
	}
	heal := func(ctx context.Context) (string, error) {
		if err := master.HealPeers(ctx); err != nil {
			return "", fmt.Errorf("restore replication: %w", err)
		}
		return "replication is possible again", nil
	}
	return proof(f, t, "%s, and the key was free everywhere", how), heal, nil
}

// awaitFree returns once no server that holds data has the lock's key.
func awaitFree(ctx context.Context, t Target) error {
	return redisnode.Until(ctx, func(ctx context.Context) error {
		for _, n := range t.Cluster.Nodes {
			if n.Role() == cluster.RoleSentinel {
				continue
			}
			value, ttl, err := redisnode.KeyState(ctx, n, t.Plan.Key)
			if err != nil {
				return err
			}
			if ttl != -2 {
				return fmt.Errorf("%s has %s = %q", n.Name(), t.Plan.Key, value)
			}
		}
		return nil
	})
}

// masterAs returns the node that was started as master, as something that not
// every node is.
func masterAs[T any](c *cluster.Cluster, what string) (T, error) {
	var zero T
	if c == nil || c.Shape != cluster.Sentinel {
		return zero, errors.New("it needs a master with replicas and sentinels")
	}
	for _, n := range c.Nodes {
		if n.Role() == cluster.RoleMaster {
			if can, ok := n.(T); ok {
				return can, nil
			}
		}
	}
	return zero, fmt.Errorf("the %s backend has no master of which %s", c.Backend, what)
}
