package explore

import (
	"context"
	"fmt"

	"github.com/oversell/oversell/inventory"
)

// shelf is the inventory of one schedule. It is never faulted.
type shelf struct {
	units  int
	token  int64
	orders []inventory.Order
}

// gated is a buyer's way to the inventory: Begin and Commit wait for the
// scheduler, and then take place in one step.
type gated struct {
	b *buyer
}

var _ inventory.Store = gated{}

func (g gated) wait(ctx context.Context, kind what, step func() error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w := g.b.w
	p := &pending{kind: kind, server: inventoryServer, step: step, done: make(chan error, 1)}
	w.mu.Lock()
	if w.over {
		w.mu.Unlock()
		return errOver
	}
	w.waiting[p] = struct{}{}
	g.b.arrive(p)
	w.mu.Unlock()
	return <-p.done
}

// Begin implements inventory.Store.
func (g gated) Begin(ctx context.Context, _ string) (token int64, units int, err error) {
	err = g.wait(ctx, ofBegin, func() error {
		s := &g.b.w.shelf
		s.token++
		token, units = s.token, s.units
		return nil
	})
	return token, units, err
}

// Commit implements inventory.Store.
func (g gated) Commit(ctx context.Context, o inventory.Order, units int, fence bool) (before int, err error) {
	err = g.wait(ctx, ofCommit, func() error {
		s := &g.b.w.shelf
		if fence && o.Token != s.token {
			return fmt.Errorf("commit order %q with token %d: %w", o.ID, o.Token, inventory.ErrStaleToken)
		}
		before = s.units
		s.units = units
		s.orders = append(s.orders, o)
		return nil
	})
	return before, err
}

// Reset implements inventory.Store.
func (g gated) Reset(context.Context, string, int) error { return nil }

// Orders implements inventory.Store.
func (g gated) Orders(context.Context, string) ([]inventory.Order, error) {
	return g.b.w.shelf.orders, nil
}

// Units implements inventory.Store.
func (g gated) Units(context.Context, string) (int, error) { return g.b.w.shelf.units, nil }

// Close implements inventory.Store.
func (g gated) Close() error { return nil }
