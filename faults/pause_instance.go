package faults

import (
	"context"
	"fmt"
	"time"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// PauseInstance freezes the instance that reached the trigger's point with
// SIGSTOP for some TTLs, and at least until others have sold. Then it goes on
// from exactly where it stood.
type PauseInstance struct {
	TTLs  float64
	Sales int // of others, while it stands still; the wait for them is bounded by as many TTLs again
}

// Name implements Fault.
func (PauseInstance) Name() string { return "pause-instance" }

// Summary implements Fault.
func (PauseInstance) Summary() string {
	return "the instance's process is frozen with SIGSTOP at exactly this point"
}

// Available implements Fault: goroutines can't be frozen.
func (PauseInstance) Available(t Target) error {
	if !t.Real {
		return fmt.Errorf("pause %w", ErrNotReal)
	}
	return nil
}

// Inject returns once the process goes on again.
func (f PauseInstance) Inject(ctx context.Context, t Target) (result.Evidence, Heal, error) {
	sales := t.watchSales(f.Sales)
	defer sales.Stop()
	started := t.History.Now()
	if err := t.Instance.Pause(ctx); err != nil {
		return result.Evidence{}, nil, fmt.Errorf("pause instance %d: %w", t.Moment.Instance, err)
	}
	span := time.Duration(f.TTLs * float64(t.Plan.TTL))
	sold, err := sales.during(ctx, span)
	if back := t.Instance.Resume(context.WithoutCancel(ctx)); back != nil {
		return result.Evidence{}, nil, fmt.Errorf("resume instance %d: %w", t.Moment.Instance, back)
	}
	if err != nil {
		return result.Evidence{}, nil, err
	}
	took := t.History.Now() - started
	return proof(f, t, "instance %d stood still for %s, %.1f times the TTL of %s, with %s about to write; %s",
		t.Moment.Instance, rounded(took), took.Seconds()/t.Plan.TTL.Seconds(), t.Plan.TTL,
		history.Who(t.Moment.Purchase), sold), nil, nil
}
