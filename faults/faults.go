// Package faults makes one precise thing go wrong, and proves that it did.
package faults

import (
	"context"
	"errors"
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/inventory"
	"github.com/oversell/oversell/result"
	"github.com/oversell/oversell/wire"
)

// ErrNotReal is wrapped by Available when a fault needs real processes or real
// servers, and the run has none.
var ErrNotReal = errors.New("needs real processes (--backend docker or process)")

// Fault is one act, with proof that it really happened.
type Fault interface {
	Name() string    // e.g. "slow-call"
	Summary() string // one line
	// Available returns nil when the fault can be played on t, else why not
	// ("kill needs real processes"). t has no moment yet.
	Available(t Target) error
	// Inject makes the fault happen and returns its proof. The trigger's moment
	// stands still until Inject returns: a held reply hasn't reached the
	// instance, a business call hasn't returned. Heal, when not nil, puts right
	// what was broken; it is called once.
	Inject(ctx context.Context, t Target) (result.Evidence, Heal, error)
}

// Heal undoes a fault and says how that was seen.
type Heal func(ctx context.Context) (how string, err error)

// Instance is the shop process that a fault is done to.
type Instance interface {
	ID() int
	// Kill ends the process by SIGKILL and returns once it is gone, with how it
	// ended ("pid 4711: signal: killed").
	Kill(ctx context.Context) (how string, err error)
	// Pause freezes the process as by SIGSTOP and returns once it stands still;
	// Resume lets it go on.
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
	// Cancel ends every purchase under way in the instance, as if its customer
	// had gone. It doesn't wait.
	Cancel()
	// Real reports whether it is an OS process.
	Real() bool
}

// Moment is where the run stands while a fault is injected.
type Moment struct {
	Point    Point
	Instance int
	Purchase string         // at points of the call
	Token    int64          // at points of the call
	Exchange *wire.Exchange // at points on the wire, else nil
	// Overtaken is, at Overtaking, the purchase that is still in its slowed call.
	Overtaken string
	// Answer says what becomes of the command or reply at a point on the wire;
	// without it, it passes.
	Answer func(wire.Action)
	Count  int // how often the trigger's point was reached so far, this time included
}

// Target is what a fault may touch.
type Target struct {
	Plan     history.Plan
	Cluster  *cluster.Cluster
	Real     bool // instances are OS processes
	Wire     *wire.Wire
	Rules    *wire.Rules // in force on Wire
	Instance Instance    // whom the trigger named; nil before there is a moment
	Moment   Moment
	History  *history.Recorder
	Store    inventory.Store // nil before there is a moment
}

// Step is one planned fault.
type Step struct {
	When Trigger
	Do   Fault
	// For is how long after the injection the fault is healed, in the
	// background; 0 means when the load has ended.
	For time.Duration
	// Optional marks a follow-up that only some locks get to: when its moment
	// doesn't come, the run isn't inconclusive.
	Optional bool
}
