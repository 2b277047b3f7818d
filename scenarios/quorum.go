package scenarios

import (
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/result"
)

// quorumBound is how long a holder waits for others to get in.
const quorumBound = 3 * time.Second

// quorumLoad makes load smaller: buyers of a lock that wants a majority of five
// get in each other's way, and a crowd of them tests patience and not the lock.
func quorumLoad(l Load) Load {
	l.Stock, l.Instances, l.Buyers, l.RetryEvery = 30, 4, 24, 60*time.Millisecond
	return l
}

// quorumLosesOne restarts one of five masters without its data while the lock
// is held, and stays, on a majority. Redlock wants a delay of one TTL before such a
// restart: else a lock that was taken on just three may be forgotten by one of them.
var quorumLosesOne = Scenario{
	Name:    "quorum-loses-one",
	Summary: "one of five masters restarts without its data while the lock is held, and stays on a majority",
	Hazard:  result.LostMinority,
	Shape:   cluster.Quorum,
	Load:    quorumLoad(longTTL()),
	Steps: []faults.Step{
		{When: tenth(faults.Called), Do: faults.RestartServer{Nodes: 1}},
		{When: tenth(faults.Called), Do: faults.Outlast{Sales: 3, Bound: quorumBound}},
	},
}

// quorumSlowOne slows one of five masters down to more than the TTL.
var quorumSlowOne = Scenario{
	Name:    "quorum-slow-one",
	Summary: "one of five masters answers slower than the TTL",
	Hazard:  result.LostMinority,
	Shape:   cluster.Quorum,
	Load:    quorumLoad(flashSale()),
	Steps: []faults.Step{
		{When: tenth(faults.Called), Do: faults.SlowServers{Nodes: 1, TTLs: 1.5}},
	},
}

// quorumLosesThree restarts three of five masters without their data while the
// lock is held: the majority has forgotten it.
var quorumLosesThree = Scenario{
	Name:    "quorum-loses-three",
	Summary: "three of five masters restart without their data while the lock is held",
	Hazard:  result.LostMajority,
	Shape:   cluster.Quorum,
	Load:    quorumLoad(longTTL()),
	Steps: []faults.Step{
		{When: tenth(faults.Called), Do: faults.RestartServer{Nodes: 3}},
		{When: tenth(faults.Called), Do: faults.Outlast{Sales: 3, Bound: quorumBound}},
	},
}
