package faults

import (
	"context"
	"time"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// Outlast lets the business call go on until other buyers have sold something
// meanwhile. It stands at Called, behind whatever let them in. When the lock
// keeps them out, the call ends nine tenths into the lock's TTL, or sooner.
type Outlast struct {
	Sales int           // how many units others sell meanwhile
	Bound time.Duration // the longest wait; 0 means nine tenths of the TTL
}

// Name implements Fault.
func (Outlast) Name() string { return "outlast" }

// Summary implements Fault.
func (Outlast) Summary() string { return "the business call goes on while other buyers sell" }

// Available implements Fault: every backend can play it.
func (Outlast) Available(Target) error { return nil }

// Inject returns when the call does.
func (f Outlast) Inject(ctx context.Context, t Target) (result.Evidence, Heal, error) {
	sales := t.watchSales(f.Sales)
	defer sales.Stop()
	bound := t.Plan.TTL * 9 / 10
	if f.Bound > 0 {
		bound = min(bound, f.Bound)
	}
	started := t.History.Now()
	sold, err := sales.within(ctx, bound)
	if err != nil {
		return result.Evidence{}, nil, err
	}
	return proof(f, t, "the call of %s went on for %s more; %s",
		history.Who(t.Moment.Purchase), rounded(t.History.Now()-started), sold), nil, nil
}
