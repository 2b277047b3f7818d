package faults

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// KillServer kills lock servers, all at once. Healed, they come back
// empty: nothing was on disk.
type KillServer struct {
	Nodes int // how many; 0 means 1
}

// Name implements Fault.
func (KillServer) Name() string { return "kill-server" }

// Summary implements Fault.
func (KillServer) Summary() string { return "the lock's server dies, and comes back empty" }

// Available implements Fault.
func (f KillServer) Available(t Target) error {
	_, err := lockNodes[cluster.Killer](t, f.Nodes, "can be killed")
	return err
}

// Inject returns once the servers are gone.
func (f KillServer) Inject(ctx context.Context, t Target) (result.Evidence, Heal, error) {
	nodes, err := lockNodes[cluster.Killer](t, f.Nodes, "can be killed")
	if err != nil {
		return result.Evidence{}, nil, err
	}
	hows, err := kill(ctx, t, nodes)
	if err != nil {
		return result.Evidence{}, nil, err
	}
	heal := func(ctx context.Context) (string, error) { return restart(ctx, t, nodes) }
	return proof(f, t, "%s", hows), heal, nil
}

// kill kills servers and says how they ended.
func kill(ctx context.Context, t Target, nodes []cluster.Killer) (string, error) {
	hows, err := each(ctx, nodes, func(ctx context.Context, n cluster.Killer) (string, error) {
		name := n.(cluster.Node).Name()
		how, err := n.Kill(ctx)
		if err != nil {
			return "", fmt.Errorf("kill %s: %w", name, err)
		}
		t.History.Record(history.Event{Kind: history.ServerRole, Server: name, Text: "killed"})
		return name + " " + how, nil
	})
	return strings.Join(hows, "; "), err
}

// restart brings killed servers back and says that they are empty.
func restart(ctx context.Context, t Target, nodes []cluster.Killer) (string, error) {
	names, err := each(ctx, nodes, func(ctx context.Context, n cluster.Killer) (string, error) {
		name := n.(cluster.Node).Name()
		if err := n.Restart(ctx); err != nil {
			return "", fmt.Errorf("restart %s: %w", name, err)
		}
		t.History.Record(history.Event{Kind: history.ServerRole, Server: name, Text: "restarted"})
		return name, nil
	})
	return strings.Join(names, ", ") + " came back without data", err
}

// each does the same to all nodes at once, and returns what came of it in their
// order: one after the other, the first would be back long before the last.
func each(ctx context.Context, nodes []cluster.Killer, do func(context.Context, cluster.Killer) (string, error)) ([]string, error) {
	out := make([]string, len(nodes))
	g, ctx := errgroup.WithContext(ctx)
	for i, n := range nodes {
		g.Go(func() (err error) {
			out[i], err = do(ctx, n)
			return err
		})
	}
	return out, g.Wait()
}

// RestartServer kills lock servers and brings them back empty at once, while
// the key is held. Where they are a minority, the lock stays on a majority: one
// that was taken on three of five and forgotten by one of those is lost, which
// Redlock excludes by restarting no sooner than one TTL later.
type RestartServer struct {
	Nodes int // how many; 0 means 1
}

// Name implements Fault.
func (RestartServer) Name() string { return "restart-server" }

// Summary implements Fault.
func (RestartServer) Summary() string { return "the lock's server restarts without its data" }

// Available implements Fault.
func (f RestartServer) Available(t Target) error { return KillServer(f).Available(t) }

// Inject returns once the servers answer again.
func (f RestartServer) Inject(ctx context.Context, t Target) (result.Evidence, Heal, error) {
	nodes, stays, err := f.victims(ctx, t)
	if err != nil {
		return result.Evidence{}, nil, err
	}
	hows, err := kill(ctx, t, nodes)
	if err != nil {
		return result.Evidence{}, nil, err
	}
	back, err := restart(ctx, t, nodes)
	if err != nil {
		return result.Evidence{}, nil, err
	}
	return proof(f, t, "%s; %s%s", hows, back, stays), nil, nil
}

// victims are the servers that restart, and what the lock has left of them.
func (f RestartServer) victims(ctx context.Context, t Target) (nodes []cluster.Killer, stays string, err error) {
	n := max(f.Nodes, 1)
	if t.Cluster.Shape != cluster.Quorum || 2*n >= len(t.Cluster.Nodes) {
		nodes, err = lockNodes[cluster.Killer](t, n, "can be killed")
		return nodes, "", err
	}
	all, err := lockNodes[cluster.Killer](t, len(t.Cluster.Nodes), "can be killed")
	if err != nil {
		return nil, "", err
	}
	values := make([]string, len(all))
	for i, node := range t.Cluster.Nodes {
		if values[i], _, err = redisnode.KeyState(ctx, node, t.Plan.Key); err != nil {
			return nil, "", err
		}
	}
	chosen, left := dispensable(values, n)
	if chosen == nil {
		return all[:n], "; nobody had the lock on a majority that could spare them", nil
	}
	for _, i := range chosen {
		nodes = append(nodes, all[i])
	}
	return nodes, fmt.Sprintf("; the lock stayed on %d of %d", left, len(all)), nil
}

// dispensable chooses n of the servers that hold these values under the lock's
// key, without which whoever has a majority keeps it: of its own, as many as it
// can spare. left is on how many its key stays. It chooses none when nobody has
// such a majority.
func dispensable(values []string, n int) (chosen []int, left int) {
	majority := len(values)/2 + 1
	for _, holder := range values {
		var own, others []int
		for i, v := range values {
			if v == holder {
				own = append(own, i)
			} else {
				others = append(others, i)
			}
		}
		if holder == "" || len(own) < majority {
			continue
		}
		spare := min(n, len(own)-majority)
		if n-spare > len(others) {
			break
		}
		return append(own[:spare], others[:n-spare]...), len(own) - spare
	}
	return nil, 0
}

// lockNodes returns the first n nodes that hold locks, as something that not
// every node is.
func lockNodes[T any](t Target, n int, what string) ([]T, error) {
	n = max(n, 1)
	if t.Cluster == nil || len(t.Cluster.Nodes) < n {
		return nil, fmt.Errorf("it needs %d servers", n)
	}
	out := make([]T, n)
	for i, node := range t.Cluster.Nodes[:n] {
		can, ok := node.(T)
		if !ok {
			return nil, fmt.Errorf("the %s backend has no server that %s", t.Cluster.Backend, what)
		}
		out[i] = can
	}
	return out, nil
}

// SlowServers lets every command to some lock servers take some TTLs, from the
// trigger's point on.
type SlowServers struct {
	Nodes int
	TTLs  float64
}

// Name implements Fault.
func (SlowServers) Name() string { return "slow-servers" }

// Summary implements Fault.
func (SlowServers) Summary() string { return "some of the lock's servers answer slower than the TTL" }

// Available implements Fault.
func (f SlowServers) Available(t Target) error {
	_, err := lockNodes[cluster.Node](t, f.Nodes, "answers")
	return err
}

// Inject returns once the first command has met the delay.
func (f SlowServers) Inject(ctx context.Context, t Target) (result.Evidence, Heal, error) {
	nodes, err := lockNodes[cluster.Node](t, f.Nodes, "answers")
	if err != nil {
		return result.Evidence{}, nil, err
	}
	rules, names := slowRules(t, nodes, f.TTLs)
	heal := func(context.Context) (string, error) {
		met := 0
		for _, r := range rules {
			met += r.Count()
			r.Remove()
		}
		return fmt.Sprintf("%s answer at once again; %d commands were slow", names, met), nil
	}
	select {
	case x := <-rules[0].Fired():
		return proof(f, t, "%s answer %.1f TTLs late; the first to meet it was the %s of instance %d",
			names, f.TTLs, x.Name, x.Instance), heal, nil
	case <-ctx.Done():
		_, _ = heal(ctx)
		return result.Evidence{}, nil, ctx.Err()
	}
}

// Failover asks the sentinels to promote a replica although the master lives.
type Failover struct{}

// Name implements Fault.
func (Failover) Name() string { return "failover" }

// Summary implements Fault.
func (Failover) Summary() string {
	return "SENTINEL FAILOVER promotes a replica while the old master is alive and writable"
}

// Available implements Fault.
func (Failover) Available(t Target) error {
	_, err := masterAs[cluster.Node](t.Cluster, "there is")
	return err
}

// Inject returns once a replica is promoted.
func (f Failover) Inject(ctx context.Context, t Target) (result.Evidence, Heal, error) {
	old, err := redisnode.CurrentMaster(ctx, t.Cluster)
	if err != nil {
		return result.Evidence{}, nil, err
	}
	for _, n := range t.Cluster.Nodes {
		if n.Role() == cluster.RoleSentinel {
			if _, err := redisnode.Do(ctx, n, "SENTINEL", "FAILOVER", cluster.MasterSet); err != nil {
				return result.Evidence{}, nil, fmt.Errorf("ask %s for a failover: %w", n.Name(), err)
			}
			break
		}
	}
	asked := t.History.Now()
	fresh, err := redisnode.AwaitPromotion(ctx, t.Cluster, old)
	if err != nil {
		return result.Evidence{}, nil, fmt.Errorf("wait for the sentinels to promote a replica: %w", err)
	}
	promoted := t.History.Record(history.Event{Kind: history.ServerRole, Server: fresh.Name(), Text: "promoted"})
	heal := func(ctx context.Context) (string, error) {
		if err := redisnode.AwaitDemotion(ctx, old); err != nil {
			return "", fmt.Errorf("wait for the sentinels to demote %s: %w", old.Name(), err)
		}
		t.History.Record(history.Event{Kind: history.ServerRole, Server: old.Name(), Text: "demoted"})
		return old.Name() + " is a replica", nil
	}
	return proof(f, t, "SENTINEL FAILOVER promoted %s in place of %s, which was alive, after %s",
		fresh.Name(), old.Name(), rounded(promoted.At-asked)), heal, nil
}
