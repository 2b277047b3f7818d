package scenarios

import (
	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/result"
)

// lateRenewal lets the first renewal of a long call arrive when the key is
// someone else's.
var lateRenewal = Scenario{
	Name:    "late-renewal",
	Summary: "during a call of three TTLs, the first renewal is on its way until the key is someone else's",
	Hazard:  result.LateRenewal,
	Shape:   cluster.Single,
	Load:    flashSale(),
	Steps: []faults.Step{
		{When: tenth(faults.Called), Do: faults.SlowCall{TTLs: 3}},
		{When: faults.Trigger{Point: faults.Renewing, During: 1}, Do: faults.DelayUntilTaken{TTLs: 2}, Optional: true},
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
