// Package scenarios holds what can go wrong in the shop, one scenario a file.
// A scenario is data: the same for every lock kind.
package scenarios

import (
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/result"
)

// Scenario is servers, load, and the faults that make one hazard happen.
type Scenario struct {
	Name    string
	Summary string // one line
	Hazard  result.Hazard
	Shape   cluster.Shape
	Load    Load
	Steps   []faults.Step
}

// Load is how the shop is used.
type Load struct {
	Stock     int // units at the start
	Instances int // shop processes
	Buyers    int // concurrent customers over all instances
	// Requests is how many units are wanted over all buyers; 0 means the
	// larger of Buyers and twice the Stock. A buyer who finds nothing left
	// wants no more.
	Requests   int
	TTL        time.Duration // of the lock
	MinTTL     time.Duration // with a shorter one the scenario can't be played
	Call       time.Duration // an ordinary business call
	RetryEvery time.Duration // mean pause between two attempts to acquire
	// StallAfter is how long nobody may get to buy, while demand and stock are
	// left and no fault is being played, before the shop counts as stalled.
	StallAfter time.Duration
}

// Wanted is Requests with its default applied.
func (l Load) Wanted() int {
	if l.Requests > 0 {
		return l.Requests
	}
	return max(l.Buyers, 2*l.Stock)
}
