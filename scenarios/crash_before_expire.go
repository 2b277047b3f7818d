package scenarios

import (
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/result"
)

// crashBeforeExpire kills the tenth holder's process when the server has
// granted the key and the process hasn't heard of it. A lock that sets the
// expiry with a second command leaves a key that never goes away.
var crashBeforeExpire = Scenario{
	Name:    "crash-before-expire",
	Summary: "an instance is killed after the server granted it the key and before it can set an expiry",
	Hazard:  result.HolderCrash,
	Shape:   cluster.Single,
	Load: Load{
		Stock: 100, Instances: 6, Buyers: 200,
		TTL: 300 * time.Millisecond, MinTTL: 50 * time.Millisecond,
		Call: 4 * time.Millisecond, RetryEvery: 30 * time.Millisecond,
		StallAfter: 2 * time.Second,
	},
	Steps: []faults.Step{
		{When: faults.Trigger{Point: faults.Acquired, Nth: 10}, Do: faults.KillInstance{}},
	},
}
