// Package scenarios holds what can go wrong in the shop, one scenario a file.
// A scenario is data: the same for every lock kind.
package scenarios

import (
	"slices"
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
	// TimeScale is how many times faster than in the incident it replays a
	// scenario's time goes by: its durations are the incident's, divided by
	// this. 0 means that they stand for themselves.
	TimeScale float64
}

// Reaches reports whether a step of the scenario stands at p.
func (s Scenario) Reaches(p faults.Point) bool {
	return slices.ContainsFunc(s.Steps, func(st faults.Step) bool { return st.When.Point == p })
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
	// Linger is how long the wire is still watched after the last buyer is done.
	Linger time.Duration
	// ClientRetries is how often the lock's Redis client repeats a command that
	// got no answer, without telling the lock. 0 is never.
	ClientRetries int
}

// WithTTL returns l with another TTL. A longer one keeps the key of a dead or a
// slow holder longer, and that is no stall yet.
func (l Load) WithTTL(ttl time.Duration) Load {
	l.StallAfter += max(0, 2*(ttl-l.TTL))
	l.TTL = ttl
	return l
}

// flashSale is the load that most scenarios share: enough buyers that somebody
// always waits, and calls that are short beside the TTL, also on a machine that
// has other things to do.
func flashSale() Load {
	return Load{
		Stock: 100, Instances: 6, Buyers: 200,
		TTL: 600 * time.Millisecond, MinTTL: 50 * time.Millisecond,
		Call: 4 * time.Millisecond, RetryEvery: 60 * time.Millisecond,
		StallAfter: 3 * time.Second,
	}
}

// longTTL is flashSale with a TTL that neither ends nor is renewed while a
// fault is played: what the fault does to the key is all that happens to it.
func longTTL() Load {
	l := flashSale()
	l.TTL, l.MinTTL, l.StallAfter = 24*time.Second, 10*time.Second, 10*time.Second
	return l
}

// tenth is the tenth time that p is reached: the shop is in full swing by then.
func tenth(p faults.Point) faults.Trigger { return faults.Trigger{Point: p, Nth: 10} }

// next is the first time that p is reached after a step was injected.
func next(p faults.Point, after int) faults.Trigger { return faults.Trigger{Point: p, After: after} }

// Wanted is Requests with its default applied.
func (l Load) Wanted() int {
	if l.Requests > 0 {
		return l.Requests
	}
	return max(l.Buyers, 2*l.Stock)
}
