// Package inventory is the store of record: stock and orders. It is never on a
// server that gets faulted.
package inventory

import (
	"context"
	"errors"
)

// ErrStaleToken is returned by Commit when a newer fencing token was issued
// before: someone began after this purchase did, so what it read may be old.
// Nothing was written.
var ErrStaleToken = errors.New("inventory: stale fencing token")

// ErrUnknownSKU is returned for an article that was never Reset. Nothing was
// written.
var ErrUnknownSKU = errors.New("inventory: unknown SKU")

// Order is one unit sold.
type Order struct {
	ID       string `json:"id"` // unique; committing the same order twice writes it once
	SKU      string `json:"sku"`
	Token    int64  `json:"token"`
	Instance int    `json:"instance"`
	Buyer    int    `json:"buyer"`
}

// Store keeps the stock and the orders of articles, each known by its SKU.
// Safe for concurrent use by many processes. Any error but ErrStaleToken and
// ErrUnknownSKU leaves the outcome unknown.
type Store interface {
	// Reset sets the stock to units and removes the article's orders and tokens.
	Reset(ctx context.Context, sku string, units int) error
	// Begin issues the next fencing token (1, 2, 3, ...) and reads the stock, in
	// one atomic step.
	Begin(ctx context.Context, sku string) (token int64, units int, err error)
	// Commit writes the stock and the order in one atomic step, and returns the
	// stock that was there before. It writes units as given, whatever the stock
	// has become since Begin: that gap is what the lock protects. With fence it
	// returns ErrStaleToken unless the order's token is the newest issued.
	Commit(ctx context.Context, o Order, units int, fence bool) (before int, err error)
	// Orders returns the article's orders in the order in which they were committed.
	Orders(ctx context.Context, sku string) ([]Order, error)
	// Units returns the stock left.
	Units(ctx context.Context, sku string) (int, error)
	Close() error
}
