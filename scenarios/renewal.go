package scenarios

import (
	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/result"
)

// lateRenewal lets the first renewal of a long call arrive when the key is
// someone else's, who stays inside meanwhile: whoever renews without asking
// always finds a key, and is never told.
var lateRenewal = Scenario{
	Name:    "late-renewal",
	Summary: "during a call that outlives the TTL, the first renewal is on its way until the key is someone else's",
	Hazard:  result.LateRenewal,
	Shape:   cluster.Single,
	Load:    flashSale(),
	Steps: []faults.Step{
		{When: tenth(faults.Called), Do: faults.SlowCall{TTLs: 1.6}},
		{When: faults.Trigger{Point: faults.Renewing, During: 1}, Do: faults.DelayUntilTaken{TTLs: 2}, Optional: true},
		{When: faults.Trigger{Point: faults.Overtaking, During: 1}, Do: faults.HoldOvertaker{TTLs: 0.9}, Optional: true},
	},
}

// lostRenewal loses the first renewal of a long call. A watchdog that notices
// in time tries again.
var lostRenewal = Scenario{
	Name:    "lost-renewal",
	Summary: "during a call of three TTLs, the first renewal is lost",
	Hazard:  result.LostRenewal,
	Shape:   cluster.Single,
	Load:    flashSale(),
	Steps: []faults.Step{
		{When: tenth(faults.Called), Do: faults.SlowCall{TTLs: 3}},
		{When: faults.Trigger{Point: faults.Renewing, During: 1}, Do: faults.Lose{}, Optional: true},
	},
}
