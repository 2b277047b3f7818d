package scenarios

import (
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/result"
)

// stuckCall lets one call hang for ten TTLs, in a process that is alive: a
// watchdog keeps everybody else out meanwhile, a lock without one lets them in.
var stuckCall = Scenario{
	Name:    "stuck-call",
	Summary: "one business call hangs for ten TTLs, and its process lives",
	Hazard:  result.StuckCall,
	Shape:   cluster.Single,
	Load:    stuckLoad(),
	Steps: []faults.Step{
		{When: tenth(faults.Called), Do: faults.SlowCall{TTLs: 10}},
	},
}

func stuckLoad() Load {
	l := flashSale()
	l.StallAfter = 5 * l.TTL
	return l
}

// pausedHolder freezes a process between its last look at the lock and its
// write. When it goes on, it writes what it had read before.
var pausedHolder = Scenario{
	Name:    "paused-holder",
	Summary: "the holder's process stands still between its last look at the lock and its write",
	Hazard:  result.PausedHolder,
	Shape:   cluster.Single,
	Load:    flashSale(),
	Steps: []faults.Step{
		{When: tenth(faults.Committing), Do: faults.PauseInstance{TTLs: 2, Sales: 3}},
	},
}

// killedHolder kills a process in the middle of its call. Every lock that has
// an expiry by then is free again one TTL later.
var killedHolder = Scenario{
	Name:    "killed-holder",
	Summary: "the holder's process is killed in the middle of its call (control)",
	Hazard:  result.Control,
	Shape:   cluster.Single,
	Load:    flashSale(),
	Steps: []faults.Step{
		{When: tenth(faults.Called), Do: faults.KillInstance{}},
	},
}

// partition cuts the holder off from the lock's servers, and not from the
// inventory, for longer than the TTL. Whoever gets in meanwhile stays inside
// until the holder is back and has released: so the key is there when it asks.
var partition = Scenario{
	Name:    "partition",
	Summary: "the holder can't reach the lock's server for a quarter longer than the TTL",
	Hazard:  result.Partition,
	Shape:   cluster.Single,
	Load:    flashSale(),
	Steps: []faults.Step{
		{When: tenth(faults.Called), Do: faults.Partition{TTLs: 1.25}},
		{When: faults.Trigger{Point: faults.Overtaking, During: 1}, Do: faults.HoldOvertaker{TTLs: 0.9}, Optional: true},
	},
}

// bypass writes the stock without the lock. The lock holds, and the stock is
// wrong all the same.
var bypass = Scenario{
	Name:    "bypass",
	Summary: "somebody writes the stock without the lock, while a holder is in its call",
	Hazard:  result.Bypass,
	Shape:   cluster.Single,
	Load:    flashSale(),
	Steps: []faults.Step{
		{When: tenth(faults.Called), Do: faults.Bypass{}},
	},
}

// shortCalls is the control: calls last up to half the TTL, and nothing is
// wrong. A harness that cries wolf here is worthless.
var shortCalls = Scenario{
	Name:    "short-calls",
	Summary: "every 20th call lasts half the TTL (control)",
	Hazard:  result.Control,
	Shape:   cluster.Single,
	Load:    shortLoad(),
	Steps: []faults.Step{
		{When: faults.Trigger{Point: faults.Called, Every: 20}, Do: faults.SlowCall{TTLs: 0.5}},
	},
}

func shortLoad() Load {
	l := flashSale()
	l.TTL = 900 * time.Millisecond
	return l
}
