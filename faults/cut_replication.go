package faults

import (
	"context"
	"errors"
	"fmt"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/result"
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

// Inject returns once every replica has lost its link.
func (f CutReplication) Inject(ctx context.Context, t Target) (result.Evidence, Heal, error) {
	master, err := masterAs[cluster.Isolator](t.Cluster, "replication can be cut")
	if err != nil {
		return result.Evidence{}, nil, err
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
	return proof(f, t, "%s", how), heal, nil
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
