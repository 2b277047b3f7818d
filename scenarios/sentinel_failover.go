package scenarios

import (
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/result"
)

// sentinelFailover loses the lock with its master. Replication is cut between
// the tenth release and the next acquisition, so no replica ever hears of that
// one; its holder is in its call when the master dies, and still is when buyers
// have sold three units through the promoted replica.
//
// The TTL is long enough that neither expiry nor a watchdog's first renewal
// (a third of it) falls into the failover: nothing but the lost key is at work.
var sentinelFailover = Scenario{
	Name:    "sentinel-failover",
	Summary: "the master dies before a replica has the lock, and sentinels promote that replica",
	Hazard:  result.LostMaster,
	Shape:   cluster.Sentinel,
	Load:    longTTL(),
	Steps: []faults.Step{
		{When: faults.Trigger{Point: faults.Released, Nth: 10}, Do: faults.CutReplication{}},
		{When: faults.Trigger{Point: faults.Called, After: 1}, Do: faults.KillMaster{}, For: time.Millisecond},
		{When: faults.Trigger{Point: faults.Called, After: 1}, Do: faults.Outlast{Sales: 3}},
	},
}
