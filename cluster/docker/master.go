package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/moby/moby/client"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
)

// master is the first master of the sentinel shape.
type master struct {
	*node
	replicas []cluster.Node
}

var _ cluster.Isolator = (*master)(nil)

// CutPeers implements cluster.Isolator: it takes the master out of the
// replication network, and ends the connections that don't notice by themselves.
// A master that is to be replaced has to be killed within ten seconds: sentinels
// promote no replica whose link has been down for longer.
//
// After a failover servers replicate among the clients, where nothing can be
// cut; then it is an error.
func (m *master) CutPeers(ctx context.Context) (string, error) {
	before, err := m.replicasAttached(ctx)
	if err != nil {
		return "", fmt.Errorf("cut %s off: %w", m.name, err)
	}
	network := m.launch.replication.name
	err = mutate(ctx, func(ctx context.Context) error {
		_, err := m.launch.engine.api.NetworkDisconnect(ctx, network, client.NetworkDisconnectOptions{Container: m.id})
		return err
	})
	if err != nil {
		return "", fmt.Errorf("cut %s off: disconnect network: %w", m.name, explain(err))
	}
	if err := m.dropLinks(ctx); err != nil {
		return "", fmt.Errorf("cut %s off: %w", m.name, err)
	}
	return fmt.Sprintf("%s is out of network %s; 0 of %d replicas attached, their links are down", m.name, network, before), nil
}

// replicasAttached counts the master's replicas, all of which must be in the
// replication network.
func (m *master) replicasAttached(ctx context.Context) (int, error) {
	reply, err := ask(ctx, m, "CLIENT", "LIST", "TYPE", "replica")
	if err != nil {
		return 0, err
	}
	text, _ := reply.(string)
	count := 0
	for line := range strings.Lines(text) {
		addr := clientAddr(line)
		if !m.launch.replication.prefix.Contains(addr) {
			return 0, fmt.Errorf("replica %s is attached outside network %s", addr, m.launch.replication.name)
		}
		count++
	}
	if count == 0 {
		return 0, errors.New("it has no replicas")
	}
	return count, nil
}

// clientAddr reads a line of CLIENT LIST.
func clientAddr(line string) netip.Addr {
	for field := range strings.FieldsSeq(line) {
		if v, ok := strings.CutPrefix(field, "addr="); ok {
			host, _, _ := net.SplitHostPort(v)
			addr, _ := netip.ParseAddr(host)
			return addr
		}
	}
	return netip.Addr{}
}

// dropLinks closes replication's connections at both ends: packets that would
// tell either end that the other has gone can't reach it.
func (m *master) dropLinks(ctx context.Context) error {
	if _, err := ask(ctx, m, "CLIENT", "KILL", "TYPE", "replica"); err != nil {
		return err
	}
	for _, r := range m.replicas {
		if _, err := ask(ctx, r, "CLIENT", "KILL", "TYPE", "master"); err != nil {
			return err
		}
	}
	err := redisnode.Until(ctx, func(ctx context.Context) error {
		info, err := redisnode.GetInfo(ctx, m, "replication")
		if err != nil {
			return err
		}
		if n := info["connected_slaves"]; n != "0" {
			return fmt.Errorf("%s has %s replicas attached", m.name, n)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("wait until no replica is attached: %w", err)
	}
	return redisnode.AwaitLink(ctx, m.replicas, false)
}

// HealPeers implements cluster.Isolator: it puts the master back into the
// replication network, whether it runs or not. It waits for the replicas that
// still follow the master, if it runs.
func (m *master) HealPeers(ctx context.Context) error {
	i, err := m.inspect(ctx)
	if err != nil {
		return fmt.Errorf("reconnect %s: %w", m.name, err)
	}
	if _, attached := i.NetworkSettings.Networks[m.launch.replication.name]; !attached {
		if err := mutate(ctx, m.joinReplication); err != nil {
			return fmt.Errorf("reconnect %s: %w", m.name, explain(err))
		}
	}
	if !i.State.Running {
		return nil
	}
	followers, err := m.followers(ctx)
	if err != nil {
		return fmt.Errorf("reconnect %s: %w", m.name, err)
	}
	if err := redisnode.AwaitLink(ctx, followers, true); err != nil {
		return fmt.Errorf("reconnect %s: %w", m.name, err)
	}
	return nil
}

// followers lists the replicas that look for the master in the replication network.
func (m *master) followers(ctx context.Context) ([]cluster.Node, error) {
	here := m.launch.replication.host(m.index).String()
	var list []cluster.Node
	for _, r := range m.replicas {
		info, err := askInfo(ctx, r, "replication")
		if err != nil {
			return nil, err
		}
		if info["role"] == "slave" && info["master_host"] == here {
			list = append(list, r)
		}
	}
	return list, nil
}
