package scenarios

import (
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/result"
)

// ttlExpiry is the flash sale: most calls are fast, every 20th outlives the
// TTL by half. Without renewal the key expires under its holder A, B gets in,
// A's release frees whatever is there, and C gets in.
var ttlExpiry = Scenario{
	Name:    "ttl-expiry",
	Summary: "every 20th business call outlives the lock's TTL by half",
	Hazard:  result.SlowCall,
	Shape:   cluster.Single,
	Load:    shortTTL(),
	Steps: []faults.Step{
		{When: faults.Trigger{Point: faults.Called, Every: 20}, Do: faults.SlowCall{TTLs: 1.5}},
		{When: faults.Trigger{Point: faults.Overtaking, Every: 1}, Do: faults.HoldOvertaker{TTLs: 0.9}, Optional: true},
	},
}

// shortTTL keeps a run with a slow call in twenty to a few seconds.
func shortTTL() Load {
	l := flashSale()
	l.TTL, l.Call = 180*time.Millisecond, time.Millisecond
	return l
}
