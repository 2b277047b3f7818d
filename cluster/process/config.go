package process

import (
	"fmt"
	"strings"

	"github.com/oversell/oversell/cluster"
)

// Times that decide how fast a failover is. A master is down after half a
// second without an answer; on top of that sentinels wait for up to a second
// before one of them stands for election, and up to another until the replica
// has told its new role. downAfterMS also decides how old a cut of replication
// may be: sentinels don't promote a replica that lost its master more than ten
// times this before the master was down.
const (
	downAfterMS       = 500
	failoverTimeoutMS = 3000
	quorum            = 2
)

// debugPeriods make sentinels look around more often, from 7.0 on. Twice the
// information and eight times the greetings find peers sooner, and bring a
// returning old master down to a replica after 4 greetings instead of after
// 8 seconds. The period of PING stays as it is: the age at which a sentinel
// still trusts what it knows of a replica follows from it.
var debugPeriods = []any{"SENTINEL", "DEBUG", "INFO-PERIOD", "500", "ASK-PERIOD", "250", "PUBLISH-PERIOD", "250"}

// serverConfig is a data server's configuration. It is a file, not arguments,
// so that a sentinel can have the server write its new role into it, as in
// production. Users are in a file of their own, which such a rewrite leaves
// alone: a cut of replication never survives a restart.
func serverConfig(port int, dir, users string, master int) string {
	lines := []string{
		fmt.Sprintf("port %d", port),
		"bind 127.0.0.1",
		"dir " + quoted(dir),
		"aclfile " + quoted(users),
		`save ""`,
		"appendonly no",
		"repl-diskless-sync yes",
		"repl-diskless-sync-delay 0",
		"repl-ping-replica-period 1",
		"replica-announce-ip 127.0.0.1",
		fmt.Sprintf("replica-announce-port %d", port),
	}
	if master != 0 {
		lines = append(lines, fmt.Sprintf("replicaof 127.0.0.1 %d", master))
	}
	return strings.Join(lines, "\n") + "\n"
}

// sentinelConfig is a sentinel's configuration, which it rewrites all the time.
func sentinelConfig(port int, dir string, master int) string {
	set := cluster.MasterSet
	return strings.Join([]string{
		fmt.Sprintf("port %d", port),
		"bind 127.0.0.1",
		"dir " + quoted(dir),
		"sentinel announce-ip 127.0.0.1",
		fmt.Sprintf("sentinel announce-port %d", port),
		fmt.Sprintf("sentinel monitor %s 127.0.0.1 %d %d", set, master, quorum),
		fmt.Sprintf("sentinel down-after-milliseconds %s %d", set, downAfterMS),
		fmt.Sprintf("sentinel failover-timeout %s %d", set, failoverTimeoutMS),
		fmt.Sprintf("sentinel parallel-syncs %s 2", set),
	}, "\n") + "\n"
}

// quoted writes a path so that the server reads it as one word.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
