package scenarios

import (
	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/result"
)

// lateRelease lets a release arrive when the key is someone else's. The command
// that removes the key is on its way until the key has expired and been granted
// to B, who is inside when it arrives. If it removes B's key, C gets in.
var lateRelease = Scenario{
	Name:    "late-release",
	Summary: "a release is on its way until the key is someone else's",
	Hazard:  result.LateRelease,
	Shape:   cluster.Single,
	Load:    flashSale(),
	Steps: []faults.Step{
		{When: tenth(faults.Releasing), Do: faults.DelayUntilTaken{TTLs: 2}},
		{When: faults.Trigger{Point: faults.Called, During: 1}, Do: faults.HoldUntilNext{TTLs: 0.9}},
	},
}

// repeatedRelease executes a release twice, as a client does that never saw the
// first reply; the second time somebody else is inside.
var repeatedRelease = Scenario{
	Name:    "repeated-release",
	Summary: "a release reaches the server a second time, when the key is someone else's",
	Hazard:  result.RepeatedRelease,
	Shape:   cluster.Single,
	Load:    flashSale(),
	Steps: []faults.Step{
		{When: tenth(faults.Released), Do: faults.RepeatRelease{TTLs: 2}},
		{When: faults.Trigger{Point: faults.Called, During: 1}, Do: faults.HoldUntilNext{TTLs: 0.9}},
	},
}

// goneAtRelease lets a release find the key gone: the server is emptied while
// the release is on its way, and B has the key when it arrives. A release that
// doesn't compare lets C in. A watchdog that only a successful release ends
// goes on for ever, which shows when the buyers are through.
var goneAtRelease = Scenario{
	Name:    "gone-at-release",
	Summary: "the key vanishes while its release is on its way, and is somebody else's when it arrives",
	Hazard:  result.GoneAtRelease,
	Shape:   cluster.Single,
	Load:    lingering(),
	Steps: []faults.Step{
		{When: tenth(faults.Releasing), Do: faults.Flush{}},
		{When: tenth(faults.Releasing), Do: faults.DelayUntilTaken{TTLs: 2}},
		{When: faults.Trigger{Point: faults.Called, During: 2}, Do: faults.HoldUntilNext{TTLs: 0.5}},
	},
}

func lingering() Load {
	l := flashSale()
	l.Linger = 2 * l.TTL
	return l
}
