package docker

import (
	"context"
	"fmt"

	"github.com/oversell/oversell/cluster"
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

// sentinelConfig is the file that the node starts with.
func (n *node) sentinelConfig() string {
	down := downAfter
	if sentinels := n.launch.ofRole(cluster.RoleSentinel); n == sentinels[len(sentinels)-1] {
		down = lateDownAfter
	}
	set := cluster.MasterSet
	return fmt.Sprintf(`port %d
protected-mode no
dir /tmp
sentinel monitor %s %s %d 2
sentinel down-after-milliseconds %s %d
sentinel failover-timeout %s %d
sentinel parallel-syncs %s 2
`, n.port, set, n.launch.nodes[0].ip(), redisPort, set, down, set, failoverTimeout, set)
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
