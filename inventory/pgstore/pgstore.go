// Package pgstore keeps the inventory in PostgreSQL, in a schema of its own:
// one row of stock for each article, and its orders.
//
// Connections are plain ones to the database. They don't cross an instance's
// wire, which understands RESP only and has no fault to play on the store of
// record.
package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oversell/oversell/inventory"
)

// DefaultSchema is where tables are when nothing else is said.
const DefaultSchema = "oversell"

// Options tune a store.
type Options struct {
	Schema   string // "" means DefaultSchema; Create makes it
	MaxConns int    // 0 means defaultConns
}

// defaultConns is enough for one process: only who holds the lock uses the
// inventory, and a lock that is held by more than a few at once has failed.
const defaultConns = 4

// connectTimeout bounds one connection, where the DSN doesn't say otherwise.
const connectTimeout = 5 * time.Second

// Store is an inventory.Store on one PostgreSQL database. Stock and order are
// written in one transaction, whose lock on the row of stock puts all commits
// of an article in an order.
type Store struct {
	pool *pgxpool.Pool
	sql  statements
}

var _ inventory.Store = (*Store)(nil)

// Open connects to the database that dsn leads to, a URL or what else libpq
// understands, with PGPASSWORD and its likes as defaults. The schema must have
// been made by Create; Open doesn't look at it. Errors carry a hint and no
// password.
func Open(ctx context.Context, dsn string, o Options) (*Store, error) {
	pool, err := connect(ctx, dsn, o.MaxConns)
	if err != nil {
		return nil, err
	}
	return &Store{pool: pool, sql: statementsOf(o.Schema)}, nil
}

// connect opens a pool with one connection in it: whoever holds a lock needn't
// wait for one.
func connect(ctx context.Context, dsn string, conns int) (*pgxpool.Pool, error) {
	c, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, unreadable(err)
	}
	if conns == 0 {
		conns = defaultConns
	}
	c.MaxConns, c.MinConns = int32(conns), 1
	if c.ConnConfig.ConnectTimeout == 0 {
		c.ConnConfig.ConnectTimeout = connectTimeout
	}
	c.ConnConfig.RuntimeParams["application_name"] = "oversell"
	c.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		// What the statements rely on, whatever this database's defaults are.
		_, err := conn.Exec(ctx, "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE")
		return err
	}
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, explain(fmt.Errorf("connect to PostgreSQL: %w", err))
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, explain(fmt.Errorf("connect to PostgreSQL: %w", err))
	}
	return pool, nil
}

// Reset implements inventory.Store.
func (s *Store) Reset(ctx context.Context, sku string, units int) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, s.sql.setStock, sku, units); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, s.sql.removeOrders, sku)
		return err
	})
	if err != nil {
		return explain(fmt.Errorf("reset %q to %d units: %w", sku, units, err))
	}
	return nil
}

// Begin implements inventory.Store. It is one statement: PostgreSQL locks the
// row, counts the token up and returns the stock of the same moment.
func (s *Store) Begin(ctx context.Context, sku string) (token int64, units int, err error) {
	err = s.pool.QueryRow(ctx, s.sql.begin, sku).Scan(&token, &units)
	if err != nil {
		return 0, 0, explain(fmt.Errorf("begin a purchase of %q: %w", sku, unknownIfNone(err)))
	}
	return token, units, nil
}

// Orders implements inventory.Store.
func (s *Store) Orders(ctx context.Context, sku string) ([]inventory.Order, error) {
	orders, err := s.orders(ctx, sku)
	if err != nil {
		return nil, explain(fmt.Errorf("read the orders of %q: %w", sku, err))
	}
	return orders, nil
}

func (s *Store) orders(ctx context.Context, sku string) ([]inventory.Order, error) {
	rows, err := s.pool.Query(ctx, s.sql.orders, sku)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	known := false
	var orders []inventory.Order
	for rows.Next() {
		known = true
		var id *string // null: the article has no orders
		var token, instance, buyer *int64
		if err := rows.Scan(&id, &token, &instance, &buyer); err != nil {
			return nil, err
		}
		if id != nil {
			orders = append(orders, inventory.Order{
				ID: *id, SKU: sku, Token: *token, Instance: int(*instance), Buyer: int(*buyer),
			})
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if !known {
		return nil, inventory.ErrUnknownSKU
	}
	return orders, nil
}

// Units implements inventory.Store.
func (s *Store) Units(ctx context.Context, sku string) (int, error) {
	var units int
	if err := s.pool.QueryRow(ctx, s.sql.units, sku).Scan(&units); err != nil {
		return 0, explain(fmt.Errorf("read the stock of %q: %w", sku, unknownIfNone(err)))
	}
	return units, nil
}

// Close closes the store's connections, and waits for those in use.
func (s *Store) Close() error {
	s.pool.Close()
	return nil
}

// unknownIfNone is for statements that find the article's row or nothing.
func unknownIfNone(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return inventory.ErrUnknownSKU
	}
	return err
}
