package process

import (
	"fmt"
	"strings"

	"github.com/oversell/oversell/cluster"
)

// A master is down after so long without an answer. It also decides how old a
// cut of replication may be: sentinels don't promote a replica that lost its
// master more than ten times this before the master was down.
//
// It must be well over the time for which a sentinel doesn't try to connect
// again, which is its period of PING. A failover closes all connections to the
// server that it promotes, so a sentinel would otherwise take the new master
// for down, and one failover would lead to the next for ever.
const (
	downAfterMS     = 1000 // with hurriedPeriods, under which it reconnects every 500 ms
	slowDownAfterMS = 1500 // without: before 7.0 it reconnects every second

	failoverTimeoutMS = 3000
	quorum            = 2
)

// hurriedPeriods make sentinels look around more often, from 7.0 on: they find
// their peers sooner, and bring a returning old master down to a replica after
// 4 periods of greeting instead of after 8 seconds. PING can't be much faster:
// five times its period is the age at which a sentinel that plans a failover no
// longer trusts what it knows of a replica, which it then asks once a second.
var hurriedPeriods = []any{
	"SENTINEL", "DEBUG", "PING-PERIOD", "500", "INFO-PERIOD", "500", "ASK-PERIOD", "250", "PUBLISH-PERIOD", "250",
}

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
		fmt.Sprintf("sentinel down-after-milliseconds %s %d", set, slowDownAfterMS),
		fmt.Sprintf("sentinel failover-timeout %s %d", set, failoverTimeoutMS),
		fmt.Sprintf("sentinel parallel-syncs %s 2", set),
	}, "\n") + "\n"
}

// quoted writes a path so that the server reads it as one word.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
