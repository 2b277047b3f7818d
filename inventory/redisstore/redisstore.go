// Package redisstore keeps the inventory on a Redis server of its own.
package redisstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/oversell/oversell/inventory"
)

// Store is an inventory.Store on one Redis server. It is as durable as that
// server is, and expects one that is never faulted. Every step is one command
// or one script.
type Store struct {
	client redis.UniversalClient
}

var _ inventory.Store = (*Store)(nil)

// New makes a store on client, which is closed with it. A client that retries
// is welcome: committing an order again writes nothing and gives the same
// answer. Only Begin may then leave out a token, which does no harm.
func New(client redis.UniversalClient) *Store { return &Store{client: client} }

// keys of one article.
type keys struct {
	stock     string // units left
	token     string // the newest fencing token issued
	orders    string // list of orders, in commit order
	committed string // hash from order ID to the stock before it
}

func keysOf(sku string) keys {
	p := "oversell:{" + sku + "}:"
	return keys{stock: p + "stock", token: p + "token", orders: p + "orders", committed: p + "committed"}
}

func (k keys) all() []string { return []string{k.stock, k.token, k.orders, k.committed} }

// Reset implements inventory.Store.
func (s *Store) Reset(ctx context.Context, sku string, units int) error {
	if err := resetScript.Run(ctx, s.client, keysOf(sku).all(), units).Err(); err != nil {
		return fmt.Errorf("reset %q to %d units: %w", sku, units, err)
	}
	return nil
}

// Begin implements inventory.Store.
func (s *Store) Begin(ctx context.Context, sku string) (token int64, units int, err error) {
	k := keysOf(sku)
	got, err := beginScript.Run(ctx, s.client, []string{k.stock, k.token}).Int64Slice()
	switch {
	case err != nil:
		return 0, 0, fmt.Errorf("begin a purchase of %q: %w", sku, err)
	case len(got) == 0:
		return 0, 0, fmt.Errorf("begin a purchase of %q: %w", sku, inventory.ErrUnknownSKU)
	}
	return got[0], int(got[1]), nil
}

// Commit implements inventory.Store.
func (s *Store) Commit(ctx context.Context, o inventory.Order, units int, fence bool) (before int, err error) {
	text, err := json.Marshal(o)
	if err != nil {
		return 0, fmt.Errorf("encode order %q: %w", o.ID, err)
	}
	check := 0
	if fence {
		check = 1
	}
	got, err := commitScript.Run(ctx, s.client, keysOf(o.SKU).all(), o.ID, text, o.Token, units, check).Int64Slice()
	switch {
	case err != nil:
		return 0, fmt.Errorf("commit order %q: %w", o.ID, err)
	case len(got) == 0:
		return 0, fmt.Errorf("commit order %q of %q: %w", o.ID, o.SKU, inventory.ErrUnknownSKU)
	case got[0] == 0:
		return 0, fmt.Errorf("commit order %q with token %d: %w", o.ID, o.Token, inventory.ErrStaleToken)
	}
	return int(got[1]), nil
}

// Orders implements inventory.Store.
func (s *Store) Orders(ctx context.Context, sku string) ([]inventory.Order, error) {
	k := keysOf(sku)
	var stock *redis.StringCmd
	var list *redis.StringSliceCmd
	_, err := s.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		stock = p.Get(ctx, k.stock)
		list = p.LRange(ctx, k.orders, 0, -1)
		return nil
	})
	if errors.Is(stock.Err(), redis.Nil) {
		return nil, fmt.Errorf("read the orders of %q: %w", sku, inventory.ErrUnknownSKU)
	}
	if err != nil {
		return nil, fmt.Errorf("read the orders of %q: %w", sku, err)
	}
	orders := make([]inventory.Order, len(list.Val()))
	for i, text := range list.Val() {
		if err := json.Unmarshal([]byte(text), &orders[i]); err != nil {
			return nil, fmt.Errorf("decode order %d of %q: %w", i+1, sku, err)
		}
	}
	return orders, nil
}

// Units implements inventory.Store.
func (s *Store) Units(ctx context.Context, sku string) (int, error) {
	units, err := s.client.Get(ctx, keysOf(sku).stock).Int()
	if errors.Is(err, redis.Nil) {
		return 0, fmt.Errorf("read the stock of %q: %w", sku, inventory.ErrUnknownSKU)
	}
	if err != nil {
		return 0, fmt.Errorf("read the stock of %q: %w", sku, err)
	}
	return units, nil
}

// Close closes the client.
func (s *Store) Close() error {
	if err := s.client.Close(); err != nil {
		return fmt.Errorf("close the inventory's client: %w", err)
	}
	return nil
}
