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

// Within is c within bounds.
func (c Case) Within(b Bounds) Case {
	c.Faults, c.Preemptions = c.usualFaults(), c.usualPreemptions()
	if b.Faults != nil {
		c.Faults = *b.Faults
	}
	if b.Preemptions != nil {
		c.Preemptions = *b.Preemptions
	}
	return c
}

// usualFaults is that hazards strike no more than twice in one schedule where there are
// more than two of them. On several masters, and where a server tells clients of changes,
// that is once: so many more things can happen there.
func (c Case) usualFaults() int {
	switch {
	case len(c.Hazards) <= 2:
		return 0
	case c.Masters > 0 || slices.Contains(c.Kind.Needs, cluster.Tracking):
		return 1
	}
	return 2
}

// usualPreemptions is that a buyer that could go on is made to wait no more than once
// where commands are on their way to several masters while time passes, of which there
// are most orders, or to more masters than a majority needs. It is twice where more than
// two buyers lock on several masters, or may be struck by more than two hazards.
func (c Case) usualPreemptions() int {
	left := budgetsLeft(c.Hazards)
	late := left[hDelay] > 0 || left[hExpiry] > 0
	switch {
	case c.Masters > 0 && (late || c.Masters > MinMasters):
		return 1
	case c.Buyers > 2 && (c.Masters > 0 || len(c.Hazards) > 2):
		return 2
	}
	return -1
}
