package scenarios

import (
	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/result"
)

// manualFailover has the sentinels promote a replica that doesn't have the key,
// while the old master lives and its holder is in its call.
var manualFailover = Scenario{
	Name:    "manual-failover",
	Summary: "SENTINEL FAILOVER promotes a replica that doesn't have the lock, while the old master lives",
	Hazard:  result.LostMaster,
	Shape:   cluster.Sentinel,
	Load:    longTTL(),
	Steps: []faults.Step{
		{When: tenth(faults.Released), Do: faults.CutReplication{}},
		{When: next(faults.Called, 1), Do: faults.Failover{}},
		{When: next(faults.Called, 1), Do: faults.Outlast{Sales: 3}},
	},
}
