package docker

import (
	"context"
	"fmt"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
)

const (
	// downAfter is how long a master may be silent, in milliseconds. Ten times
	// as long may a replica's link have been down for it to be promoted, so this
	// is also why a master has to die within ten seconds of the cut.
	downAfter = 1000
	// lateDownAfter is the last sentinel's: three sentinels that notice at once
	// may each vote for themselves, and then nobody is elected.
	lateDownAfter = 2000
	// failoverTimeout, in milliseconds, outlasts every run: after it sentinels
	// would set right what isn't wrong, that replicas know the master by its
	// address in the replication network.
	failoverTimeout = 30 * 60 * 1000
)

// introduce tells running servers what they are to each other. Had they started
// with it, each would have to wait for those it needs: a replica that meets no
// master tries again a second later, and a sentinel that meets a master without
// replicas asks again after ten.
func (l *launch) introduce(ctx context.Context) error {
	replicas := l.ofRole(cluster.RoleReplica)
	if err := each(ctx, replicas, (*node).follow); err != nil {
		return err
	}
	if err := redisnode.AwaitLink(ctx, asNodes(replicas), true); err != nil {
		return err
	}
	if err := each(ctx, l.ofRole(cluster.RoleSentinel), (*node).watch); err != nil {
		return err
	}
	return redisnode.AwaitSentinels(ctx, &cluster.Cluster{Shape: l.spec.Shape, Nodes: l.clusterNodes()})
}

// renew is introduce for servers that have been something else to each other. No
// sentinel may still watch when the first one watches anew: it would tell it what
// it knows.
func (l *launch) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not ready within %s", startTimeout))
	defer cancel()
	if err := each(ctx, l.ofRole(cluster.RoleSentinel), (*node).forget); err != nil {
		return err
	}
	if _, err := ask(ctx, l.nodes[0], "REPLICAOF", "NO", "ONE"); err != nil {
		return err
	}
	return l.introduce(ctx)
}

// forget makes the sentinel watch nothing.
func (n *node) forget(ctx context.Context) error {
	_, err := ask(ctx, n, "SENTINEL", "REMOVE", cluster.MasterSet)
	if refused(err) {
		return nil // it has forgotten already
	}
	return err
}

// follow makes the node a replica of the master.
func (n *node) follow(ctx context.Context) error {
	_, err := ask(ctx, n, "REPLICAOF", n.launch.replication.host(0).String(), redisPort)
	return err
}

// sentinelConfig is the file that the node starts with, and into which it
// writes what it learns.
func (n *node) sentinelConfig() string {
	return fmt.Sprintf("port %d\nprotected-mode no\ndir /tmp\n", n.port)
}

// watch makes the sentinel watch the master.
func (n *node) watch(ctx context.Context) error {
	down := downAfter
	if sentinels := n.launch.ofRole(cluster.RoleSentinel); n == sentinels[len(sentinels)-1] {
		down = lateDownAfter
	}
	set := cluster.MasterSet
	// Not with ask: a second MONITOR of the same name would be refused.
	if _, err := redisnode.Do(ctx, n, "SENTINEL", "MONITOR", set, n.launch.nodes[0].ip(), redisPort, 2); err != nil {
		return fmt.Errorf("monitor the master: %w", err)
	}
	_, err := ask(ctx, n, "SENTINEL", "SET", set,
		"down-after-milliseconds", down, "failover-timeout", failoverTimeout, "parallel-syncs", 2)
	return err
}

// haste are the periods, in milliseconds, at which sentinels do things that
// runs would otherwise wait for.
var haste = []any{
	"PUBLISH-PERIOD", 250, // getting to know each other; four of them until a returning master is demoted
	"INFO-PERIOD", 500, // noticing that a returning master believes itself master
	"PING-PERIOD", 500, // five of them may pass between two answers of a replica that is to be promoted, and INFO takes a second
	"ASK-PERIOD", 200, // agreeing that the master is down
	"TILT-TRIGGER", 60000, // a machine that stalls mustn't put the failover off by half a minute
}

// hurry makes a sentinel quicker than its configuration can, where it knows how.
func (n *node) hurry(ctx context.Context) error {
	_, err := ask(ctx, n, append([]any{"SENTINEL", "DEBUG"}, haste...)...)
	if refused(err) {
		return nil // older than 7.0: slower, and as good
	}
	return err
}
