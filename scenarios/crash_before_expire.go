package scenarios

import (
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
	Load:    flashSale(),
	Steps: []faults.Step{
		{When: faults.Trigger{Point: faults.Acquired, Nth: 10}, Do: faults.KillInstance{}},
	},
}
