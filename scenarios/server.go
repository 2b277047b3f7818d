package scenarios

import (
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/result"
)

// frozenServer lets the lock's server stand still for two TTLs while the key
// is held. It answers again with the key grown old. Whoever gets in then stays
// inside, so that the key is there when the holder asks for it.
var frozenServer = Scenario{
	Name:    "frozen-server",
	Summary: "the lock's server answers nobody for two TTLs",
	Hazard:  result.FrozenServer,
	Shape:   cluster.Single,
	Load:    flashSale(),
	Steps: []faults.Step{
		{When: tenth(faults.Called), Do: faults.FreezeServer{TTLs: 2, Sales: 1}},
		{When: faults.Trigger{Point: faults.Overtaking, During: 1}, Do: faults.HoldOvertaker{TTLs: 0.9}, Optional: true},
	},
}

// serverDown takes the lock's server away while the key is held; the holder's
// call ends before it is back. Nobody can get the lock meanwhile, and a lock
// that takes an error for a yes lets everybody in.
var serverDown = Scenario{
	Name:    "server-down",
	Summary: "the lock's server is down while a holder is in its call",
	Hazard:  result.ServerDown,
	Shape:   cluster.Single,
	Load:    downLoad(),
	Steps: []faults.Step{
		{When: tenth(faults.Called), Do: faults.KillServer{}, For: 1500 * time.Millisecond},
		{When: tenth(faults.Called), Do: faults.Outlast{Sales: 3, Bound: 700 * time.Millisecond}},
	},
}

func downLoad() Load {
	l := flashSale()
	l.TTL, l.MinTTL = 2*time.Second, time.Second
	return l
}

// emptyRestart restarts the lock's server without its data while the key is held.
var emptyRestart = Scenario{
	Name:    "empty-restart",
	Summary: "the lock's server restarts without its data while the key is held",
	Hazard:  result.LostData,
	Shape:   cluster.Single,
	Load:    longTTL(),
	Steps: []faults.Step{
		{When: tenth(faults.Called), Do: faults.RestartServer{}},
		{When: tenth(faults.Called), Do: faults.Outlast{Sales: 3}},
	},
}

// flushed empties the lock's server while the key is held.
var flushed = Scenario{
	Name:    "flushed",
	Summary: "FLUSHALL on the lock's server while the key is held",
	Hazard:  result.LostData,
	Shape:   cluster.Single,
	Load:    longTTL(),
	Steps: []faults.Step{
		{When: tenth(faults.Called), Do: faults.Flush{}},
		{When: tenth(faults.Called), Do: faults.Outlast{Sales: 3}},
	},
}

// evicted lets a full server evict the lock's key.
var evicted = Scenario{
	Name:    "evicted",
	Summary: "the lock's server is full and evicts the key while it is held",
	Hazard:  result.LostData,
	Shape:   cluster.Single,
	Load:    longTTL(),
	Steps: []faults.Step{
		{When: tenth(faults.Called), Do: faults.Evict{}},
		{When: tenth(faults.Called), Do: faults.Outlast{Sales: 3}},
	},
}

// clockJump lets the server's clock jump past the key's end.
var clockJump = Scenario{
	Name:    "clock-jump",
	Summary: "the server's clock jumps ahead by a TTL while the key is held",
	Hazard:  result.ClockJump,
	Shape:   cluster.Single,
	Load:    longTTL(),
	Steps: []faults.Step{
		{When: tenth(faults.Called), Do: faults.ClockJump{TTLs: 1}},
		{When: tenth(faults.Called), Do: faults.Outlast{Sales: 3}},
	},
}

// scriptFlush empties the script cache while the key is held: locks that live
// in scripts must send them again.
var scriptFlush = Scenario{
	Name:    "script-flush",
	Summary: "SCRIPT FLUSH on the lock's server while the key is held (control)",
	Hazard:  result.Control,
	Shape:   cluster.Single,
	Load:    flashSale(),
	Steps: []faults.Step{
		{When: tenth(faults.Called), Do: faults.FlushScripts{}},
	},
}

// disconnected breaks every connection to the lock's server while the key is
// held: subscriptions, tracking and pools begin anew.
var disconnected = Scenario{
	Name:    "disconnected",
	Summary: "every connection to the lock's server breaks at once while the key is held",
	Hazard:  result.Unavailable,
	Shape:   cluster.Single,
	Load:    flashSale(),
	Steps: []faults.Step{
		{When: tenth(faults.Called), Do: faults.Disconnect{}},
	},
}

// fullServer lets the lock's server refuse writes for a while.
var fullServer = Scenario{
	Name:    "full-server",
	Summary: "the lock's server is full and refuses writes for half a second",
	Hazard:  result.Unavailable,
	Shape:   cluster.Single,
	Load:    flashSale(),
	Steps: []faults.Step{
		{When: tenth(faults.Called), Do: faults.FillMemory{}, For: 500 * time.Millisecond},
	},
}
