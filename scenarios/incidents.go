package scenarios

import (
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/result"
)

// replayScale is how many times faster than in life the incidents are played.
const replayScale = 25

// flashSaleReplay is the flash sale that sold 137 of 100 units, in its own
// figures: six instances, 200 buyers, a TTL of 5 s, and a cache reload that
// lets one call in 20 take 6 s or 8 s.
var flashSaleReplay = Scenario{
	Name:    "flash-sale",
	Summary: "the flash sale that sold 137 of 100: a TTL of 5 s and calls of 6 s to 8 s, 25 times faster",
	Hazard:  result.SlowCall,
	Shape:   cluster.Single,
	Load: Load{
		Stock: 100, Instances: 6, Buyers: 200,
		TTL: 5 * time.Second, MinTTL: shortestReplay,
		Call: 100 * time.Millisecond, RetryEvery: 750 * time.Millisecond,
		StallAfter: 75 * time.Second,
	},
	Steps: []faults.Step{
		{When: faults.Trigger{Point: faults.Called, Nth: 10, Every: 40}, Do: faults.SlowCall{TTLs: 1.2}},
		{When: faults.Trigger{Point: faults.Called, Nth: 30, Every: 40}, Do: faults.SlowCall{TTLs: 1.6}},
		{When: faults.Trigger{Point: faults.Overtaking, Every: 1}, Do: faults.HoldOvertaker{TTLs: 0.9}, Optional: true},
	},
	TimeScale: 1,
}.AtTimeScale(replayScale)

// purchaseServiceReplay is the purchase service that oversold three units in
// 500 requests: a TTL of 2 s, and calls of 200 ms that became 3 s.
var purchaseServiceReplay = Scenario{
	Name:    "purchase-service",
	Summary: "the purchase service of 500 requests: a TTL of 2 s and calls of 200 ms that become 3 s, 25 times faster",
	Hazard:  result.SlowCall,
	Shape:   cluster.Single,
	Load: Load{
		Stock: 100, Instances: 4, Buyers: 100, Requests: 500,
		TTL: 2 * time.Second, MinTTL: shortestReplay,
		Call: 200 * time.Millisecond, RetryEvery: 500 * time.Millisecond,
		StallAfter: 75 * time.Second,
	},
	Steps: []faults.Step{
		{When: faults.Trigger{Point: faults.Called, Nth: 20, Every: 20}, Do: faults.SlowCall{TTLs: 1.5}},
	},
	TimeScale: 1,
}.AtTimeScale(replayScale)

// shortestReplay is a TTL that a busy machine can still tell from none.
const shortestReplay = 50 * time.Millisecond

// thousandBuyers is the claim that came with the cures: 1,000 concurrent buyers,
// none oversold. Calls stay below the TTL, so that every lock has to hold.
var thousandBuyers = Scenario{
	Name:    "thousand-buyers",
	Summary: "1,000 concurrent buyers, and every 20th call lasts a fifth of the TTL (control)",
	Hazard:  result.Control,
	Shape:   cluster.Single,
	Load: Load{
		Stock: 100, Instances: 6, Buyers: 1000,
		TTL: 3 * time.Second, MinTTL: time.Second,
		Call: 4 * time.Millisecond, RetryEvery: 150 * time.Millisecond,
		StallAfter: 5 * time.Second,
	},
	Steps: []faults.Step{
		{When: faults.Trigger{Point: faults.Called, Every: 20}, Do: faults.SlowCall{TTLs: 0.2}},
	},
}
