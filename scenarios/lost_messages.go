package scenarios

import (
	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/result"
)

// lostCommand loses the eleventh command of a holder on its key. In a lock of
// two commands, acquire and expire, that is the expiry.
var lostCommand = Scenario{
	Name:    "lost-command",
	Summary: "one command of a holder on its key is lost: the expiry, where that is a command of its own",
	Hazard:  result.LostCommand,
	Shape:   cluster.Single,
	Load:    flashSale(),
	Steps: []faults.Step{
		{When: faults.Trigger{Point: faults.Holding, Nth: 11}, Do: faults.Lose{}},
	},
}

// lostReply lets the server grant the key and breaks the connection before the
// instance hears of it.
var lostReply = Scenario{
	Name:    "lost-reply",
	Summary: "the server grants the key and the connection breaks before the reply arrives",
	Hazard:  result.LostReply,
	Shape:   cluster.Single,
	Load:    flashSale(),
	Steps: []faults.Step{
		{When: tenth(faults.Acquired), Do: faults.Cut{}},
	},
}

// cancelledAcquire ends the purchase's context while the reply that grants the
// key is on its way.
var cancelledAcquire = Scenario{
	Name:    "cancelled-acquire",
	Summary: "the customer is gone when the server has granted the key and the reply is on its way",
	Hazard:  result.Cancelled,
	Shape:   cluster.Single,
	Load:    flashSale(),
	Steps: []faults.Step{
		{When: tenth(faults.Acquired), Do: faults.Cancel{}},
	},
}
