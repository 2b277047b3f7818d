package faults

import (
	"context"
	"errors"
	"fmt"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/inventory"
	"github.com/oversell/oversell/result"
)

// Bypass sells one unit without the lock, while a purchase that holds it is in
// its call: a nightly job, an admin page, an old version of the shop.
type Bypass struct{}

// Name implements Fault.
func (Bypass) Name() string { return "bypass" }

// Summary implements Fault.
func (Bypass) Summary() string { return "somebody writes the stock without the lock" }

// Available implements Fault: every backend can play it.
func (Bypass) Available(Target) error { return nil }

// Inject returns once the unit is sold.
func (f Bypass) Inject(ctx context.Context, t Target) (result.Evidence, Heal, error) {
	if t.Store == nil {
		return result.Evidence{}, nil, errors.New("there is no inventory")
	}
	token, units, err := t.Store.Begin(ctx, t.Plan.SKU)
	if err != nil {
		return result.Evidence{}, nil, fmt.Errorf("read the stock: %w", err)
	}
	id := fmt.Sprintf("bypass.%d", t.Moment.Count)
	t.History.Record(history.Event{Kind: history.Begun, Purchase: id, Token: token, Units: units})
	o := inventory.Order{ID: id, SKU: t.Plan.SKU, Token: token}
	before, err := t.Store.Commit(ctx, o, units-1, false)
	if err != nil {
		return result.Evidence{}, nil, fmt.Errorf("write the stock: %w", err)
	}
	t.History.Record(history.Event{Kind: history.Committed, Purchase: id, Token: token, Units: units - 1, Before: before})
	return proof(f, t, "somebody without the lock sold a unit and wrote a stock of %d over %d, while %s held the lock",
		units-1, before, history.Who(t.Moment.Purchase)), nil, nil
}
