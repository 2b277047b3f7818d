package process

import (
	"context"
	"fmt"
	"strings"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
)

// replicating are the commands with which a replica begins to follow a master.
// REPLCONF isn't among them: a replica turned away there, but let in with its
// next command, would have told the master no port, and sentinels would then
// wait for ever for a replica on port 0.
var replicating = []string{"psync", "sync"}

// isolator is a master with replicas. It implements cluster.Isolator.
//
// All servers share the loopback, so there is no network to cut between a
// master and its replicas only. Instead the master forbids the commands that
// begin replication and closes the connections on which it goes on. Replicas
// try again for ever and are turned away, while sentinels and clients, who use the
// same user and other commands, notice nothing. A user's permissions are only
// in the server's memory here, so that a killed master comes back clean. This
// works on Redis from 6.0 on and on Valkey.
//
// Other ways fail: REPLICAOF on the replicas makes them masters in the
// sentinels' eyes, a firewall needs privileges, and pausing replicas keeps
// them from being promoted.
type isolator struct {
	*node
	replicas []*node
}

// CutPeers implements cluster.Isolator. The master has to die within 10 s of
// it, or the sentinels won't promote replicas that have been without it for
// too long.
func (m *isolator) CutPeers(ctx context.Context) (how string, err error) {
	role, err := redisnode.Role(ctx, m)
	if err != nil {
		return "", fmt.Errorf("cut %s from its replicas: %w", m.name, err)
	}
	if role != "master" {
		return "", fmt.Errorf("cut %s from its replicas: it says that it is a %s", m.name, role)
	}
	if err := m.permit(ctx, "-"); err != nil {
		return "", fmt.Errorf("cut %s from its replicas: %w", m.name, err)
	}
	if _, err := redisnode.Do(ctx, m, "CLIENT", "KILL", "TYPE", "replica"); err != nil {
		return "", fmt.Errorf("cut %s from its replicas: %w", m.name, err)
	}
	if err := redisnode.AwaitLink(ctx, asNodes(m.replicas), false); err != nil {
		return "", fmt.Errorf("cut %s from its replicas: %w", m.name, err)
	}
	names := make([]string, len(m.replicas))
	for i, r := range m.replicas {
		names[i] = r.name
	}
	return fmt.Sprintf("%s say master_link_status:down", strings.Join(names, " and ")), nil
}

// HealPeers implements cluster.Isolator. It returns once the replicas that
// still follow this master are in sync again. A master that is down has
// nothing to heal: it comes back without the ban.
func (m *isolator) HealPeers(ctx context.Context) error {
	if m.isDown() {
		return nil
	}
	if err := m.permit(ctx, "+"); err != nil {
		return fmt.Errorf("let the replicas of %s come back: %w", m.name, err)
	}
	for _, r := range m.replicas {
		if r.isDown() {
			continue
		}
		err := redisnode.Until(ctx, func(ctx context.Context) error { return m.inSync(ctx, r) })
		if err != nil {
			return fmt.Errorf("let %s come back to %s: %w", r.name, m.name, err)
		}
	}
	return nil
}

// permit allows ("+") or forbids ("-") replication.
func (m *isolator) permit(ctx context.Context, sign string) error {
	args := []any{"ACL", "SETUSER", "default"}
	for _, command := range replicating {
		args = append(args, sign+command)
	}
	_, err := redisnode.Do(ctx, m, args...)
	return err
}

// inSync returns nil when r doesn't follow this master, or is in sync with it.
func (m *isolator) inSync(ctx context.Context, r *node) error {
	info, err := redisnode.GetInfo(ctx, r, "replication")
	if err != nil {
		return err
	}
	port, _ := info.Int("master_port")
	if info["role"] != "slave" || port != int64(m.port) || info["master_link_status"] == "up" {
		return nil
	}
	return fmt.Errorf("%s says master_link_status:%s", r.name, info["master_link_status"])
}

// isDown reports whether the node has no running process.
func (n *node) isDown() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.closed || n.proc == nil || n.proc.How() != ""
}

var (
	_ cluster.Node     = (*isolator)(nil)
	_ cluster.Isolator = (*isolator)(nil)
	_ cluster.Killer   = (*node)(nil)
	_ cluster.Pauser   = (*node)(nil)
	_ cluster.Backend  = (*Backend)(nil)
)
