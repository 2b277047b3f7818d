package faults

import (
	"context"
	"fmt"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// KillMaster kills the master and waits until the sentinels have promoted a
// replica. Healed, the old master comes back and is demoted.
type KillMaster struct{}

// Name implements Fault.
func (KillMaster) Name() string { return "kill-master" }

// Summary implements Fault.
func (KillMaster) Summary() string { return "the master dies and the sentinels promote a replica" }

// Available implements Fault.
func (KillMaster) Available(t Target) error {
	_, err := masterAs[cluster.Killer](t.Cluster, "the process can be killed")
	return err
}

// Inject returns once a replica is promoted.
func (f KillMaster) Inject(ctx context.Context, t Target) (result.Evidence, Heal, error) {
	killer, err := masterAs[cluster.Killer](t.Cluster, "the process can be killed")
	if err != nil {
		return result.Evidence{}, nil, err
	}
	old := killer.(cluster.Node)
	how, err := killer.Kill(ctx)
	if err != nil {
		return result.Evidence{}, nil, fmt.Errorf("kill %s: %w", old.Name(), err)
	}
	killed := t.History.Record(history.Event{Kind: history.ServerRole, Server: old.Name(), Text: "killed"})
	fresh, err := redisnode.AwaitPromotion(ctx, t.Cluster, old)
	if err != nil {
		return result.Evidence{}, nil, fmt.Errorf("wait for the sentinels to promote a replica: %w", err)
	}
	promoted := t.History.Record(history.Event{Kind: history.ServerRole, Server: fresh.Name(), Text: "promoted"})
	value, ttl, err := redisnode.KeyState(ctx, fresh, t.Plan.Key)
	if err != nil {
		return result.Evidence{}, nil, fmt.Errorf("look for the key on %s: %w", fresh.Name(), err)
	}
	t.History.Record(history.Event{Kind: history.KeyState, Server: fresh.Name(), Key: t.Plan.Key, Value: value, TTL: ttl})
	has := "without the key"
	if ttl != -2 {
		has = fmt.Sprintf("where the key is held by %q", value)
	}
	return proof(f, t, "%s %s; the sentinels promoted %s %s later, %s",
		old.Name(), how, fresh.Name(), rounded(promoted.At-killed.At), has), f.heal(t, killer, old), nil
}

func (KillMaster) heal(t Target, killer cluster.Killer, old cluster.Node) Heal {
	return func(ctx context.Context) (string, error) {
		started := t.History.Now()
		if err := killer.Restart(ctx); err != nil {
			return "", fmt.Errorf("restart %s: %w", old.Name(), err)
		}
		t.History.Record(history.Event{Kind: history.ServerRole, Server: old.Name(), Text: "restarted"})
		if err := redisnode.AwaitDemotion(ctx, old); err != nil {
			return "", fmt.Errorf("wait for the sentinels to demote %s: %w", old.Name(), err)
		}
		t.History.Record(history.Event{Kind: history.ServerRole, Server: old.Name(), Text: "demoted"})
		return fmt.Sprintf("%s came back and was a replica %s later", old.Name(), rounded(t.History.Now()-started)), nil
	}
}
