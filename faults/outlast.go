package faults

import (
	"context"
	"fmt"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// Outlast lets the business call go on until other buyers have sold something
// meanwhile. It stands at Called, behind whatever let them in. When the lock
// keeps them out, the call ends nine tenths into the lock's TTL.
type Outlast struct {
	Sales int // how many units others sell meanwhile
}

// Name implements Fault.
func (Outlast) Name() string { return "outlast" }

// Summary implements Fault.
func (Outlast) Summary() string { return "the business call goes on while other buyers sell" }

// Available implements Fault: every backend can play it.
func (Outlast) Available(Target) error { return nil }

// Inject returns when the call does.
func (f Outlast) Inject(ctx context.Context, t Target) (result.Evidence, Heal, error) {
	started := t.History.Now()
	sold := 0
	watch := t.History.Watch(func(e history.Event) bool {
		if e.Kind == history.Committed && e.Purchase != t.Moment.Purchase {
			sold++
		}
		return sold >= f.Sales
	})
	defer watch.Stop()
	bound, cancel := context.WithTimeout(ctx, t.Plan.TTL*9/10)
	defer cancel()
	_, err := watch.Wait(bound)
	if ctx.Err() != nil {
		return result.Evidence{}, nil, ctx.Err()
	}
	meanwhile := fmt.Sprintf("others sold %d units meanwhile", f.Sales)
	if err != nil {
		meanwhile = "the lock let nobody else sell meanwhile"
	}
	return proof(f, t, "the call of %s went on for %s more, %s",
		history.Who(t.Moment.Purchase), rounded(t.History.Now()-started), meanwhile), nil, nil
}
