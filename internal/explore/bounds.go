package explore

import (
	"slices"

	"github.com/oversell/oversell/cluster"
)

// Bounds are what somebody wants explored. What is nil is as usual.
type Bounds struct {
	Faults      *int // 0 for no bound but each hazard's
	Preemptions *int // less than 0 for no bound
}

// Within is c within bounds. It is usual that hazards strike no more than twice in one
// schedule where there are more than two of them. On several masters, and where a server tells
// clients of changes, that is once: so many more things can happen there. Where commands
// are on their way to several masters while time passes, of which there are most orders,
// a buyer that could go on is made to wait no more than once.
func (c Case) Within(b Bounds) Case {
	c.Faults, c.Preemptions = 0, -1
	if len(c.Hazards) > 2 {
		c.Faults = 2
		if c.Masters > 0 || slices.Contains(c.Kind.Needs, cluster.Tracking) {
			c.Faults = 1
		}
	}
	if c.Masters > 0 {
		if left := budgetsLeft(c.Hazards); left[hDelay] > 0 || left[hExpiry] > 0 {
			c.Preemptions = 1
		}
	}
	if b.Faults != nil {
		c.Faults = *b.Faults
	}
	if b.Preemptions != nil {
		c.Preemptions = *b.Preemptions
	}
	return c
}
