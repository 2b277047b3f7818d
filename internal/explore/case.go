// Package explore runs the real code of a lock and the real purchase in every
// order in which their commands can reach the servers, under chosen hazards, and
// finds the shortest order that sells more than there is.
//
// Buyers are goroutines in a synctest bubble, so that time is fake, and talk to
// a simulated server over connections on which every command waits for the
// scheduler. A schedule is the list of the scheduler's choices. Nothing of the
// lock is modelled: its code runs from the beginning for each schedule.
package explore

import (
	"fmt"
	"slices"
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/locks"
)

// Case is what is explored.
type Case struct {
	Kind    locks.Kind
	Buyers  int // each in an instance of its own, each wanting one unit
	Masters int // independent ones that make up the majority; 0 for one server, or three for a kind that needs several
	Stock   int
	TTL     time.Duration // 0 means DefaultTTL; the clock is fake, so it costs nothing
	Hazards []Budget
	// Faults bounds how often hazards may strike in one schedule, all together; 0
	// is no bound but theirs.
	Faults int
	// Preemptions bounds how often a buyer that could go on is made to wait for
	// another; less than 0 is no bound.
	Preemptions int
	Seed        uint64 // of pauses, and of the strategies that draw
}

// DefaultTTL is the second incident's.
const DefaultTTL = 2 * time.Second

// MaxBuyers bounds the buyers of a case, MinMasters and MaxMasters its independent
// masters, if it has any.
const (
	MaxBuyers  = 8
	MinMasters = 3
	MaxMasters = 5
)

// The case's names for the lock's key and the article.
const (
	lockKey = "lock"
	sku     = "article"
)

// retryEvery is the mean pause of whoever waits. It is next to nothing compared
// with the TTL: when a waiter comes back is decided by the scheduler, not by it.
const retryEvery = 5 * time.Microsecond

// shopRetry is the shop's own pause, which it makes up to 16 times as long when the lock
// answers with errors: all pauses of a schedule together stay below the grain in which
// times are compared, also where each attempt changes something.
const shopRetry = retryEvery / 50

// key is the lock's key, in the form that the kind leaves it in.
func (c Case) key() string {
	if c.Kind.KeyForm != nil {
		return c.Kind.KeyForm(lockKey)
	}
	return lockKey
}

// WithDefaults is c with what it doesn't say.
func (c Case) WithDefaults() Case {
	if c.TTL == 0 {
		c.TTL = DefaultTTL
	}
	if c.Masters == 0 && !slices.Contains(c.Kind.Topologies, cluster.Single) {
		c.Masters = MinMasters
	}
	return c
}

// Check returns why the case can't be explored.
func (c Case) Check() error {
	switch {
	case c.Buyers < 1 || c.Buyers > MaxBuyers:
		return hint.Wrap(fmt.Errorf("explore: %d buyers", c.Buyers), "from 1 to %d buyers can be explored", MaxBuyers)
	case c.Stock < 1:
		return hint.Wrap(fmt.Errorf("explore: a stock of %d", c.Stock), "give at least one unit of stock")
	case c.TTL != 0 && c.TTL < time.Second:
		return hint.Wrap(fmt.Errorf("explore: a TTL of %s", c.TTL), "give a TTL of at least 1s: the clock is fake, and a long one costs no time")
	case c.Masters != 0 && (c.Masters < MinMasters || c.Masters > MaxMasters):
		return hint.Wrap(fmt.Errorf("explore: %d masters", c.Masters), "from %d to %d independent masters can be explored", MinMasters, MaxMasters)
	case c.Masters != 0 && !CanHaveMasters(c.Kind):
		return fmt.Errorf("explore: %s doesn't lock on several independent masters", c.Kind.Name)
	}
	return Unexplorable(c.Kind)
}

// Unexplorable returns why a lock kind can't be explored, nil when it can.
func Unexplorable(k locks.Kind) error {
	if !slices.Contains(k.Topologies, cluster.Single) && !CanHaveMasters(k) {
		return fmt.Errorf("%s isn't explored: it needs %v servers, and one or several masters are simulated", k.Name, k.Topologies)
	}
	return nil
}

// Shape is that of the servers that c is locked on.
func (c Case) Shape() cluster.Shape {
	if c.Masters > 0 {
		return cluster.Quorum
	}
	return cluster.Single
}

// CanHaveMasters reports whether a lock kind can take a majority of independent masters.
func CanHaveMasters(k locks.Kind) bool { return slices.Contains(k.Topologies, cluster.Quorum) }

// OnMasters is c on several independent masters, for a kind that can lock on those
// and on one server alike.
func (c Case) OnMasters() (Case, bool) {
	if c.Masters != 0 || !slices.Contains(c.Kind.Topologies, cluster.Single) || !CanHaveMasters(c.Kind) {
		return c, false
	}
	c.Masters = MinMasters
	return c, true
}

// Property is what a schedule can break.
type Property string

// The properties, worst first.
const (
	Oversold       Property = "oversold"        // more orders than stock
	Mismatch       Property = "mismatch"        // orders and stock left don't add up to the stock there was
	Stalled        Property = "stalled"         // stock is left, and somebody waits for ever
	ForeignRelease Property = "foreign release" // a buyer removed a key that was another's
)

// Properties lists them, worst first.
func Properties() []Property { return []Property{Oversold, Mismatch, Stalled, ForeignRelease} }

// outcome is the set of properties that a schedule broke.
type outcome uint8

const (
	oversold outcome = 1 << iota
	mismatch
	stalled
	foreign
	cut // not ended: it has more events than are followed
)

func (o outcome) broke(p Property) bool {
	i := slices.Index(Properties(), p)
	return o&(1<<i) != 0
}
