package pgstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/oversell/oversell/inventory"
)

// Commit implements inventory.Store.
func (s *Store) Commit(ctx context.Context, o inventory.Order, units int, fence bool) (before int, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) (err error) {
		before, err = s.commit(ctx, tx, o, units, fence)
		return err
	})
	switch {
	case errors.Is(err, inventory.ErrUnknownSKU):
		return 0, fmt.Errorf("commit order %q of %q: %w", o.ID, o.SKU, err)
	case errors.Is(err, inventory.ErrStaleToken):
		return 0, fmt.Errorf("commit order %q with token %d: %w", o.ID, o.Token, err)
	case err != nil:
		return 0, explain(fmt.Errorf("commit order %q: %w", o.ID, err))
	}
	return before, nil
}

// commit is the transaction. Its first statement locks the article's row, and
// each further one sees what was committed before it began: nobody else writes
// this article's stock, token or orders until the transaction ends.
func (s *Store) commit(ctx context.Context, tx pgx.Tx, o inventory.Order, units int, fence bool) (before int, err error) {
	if err := tx.QueryRow(ctx, s.sql.lock, o.SKU).Scan(&before); err != nil {
		return 0, unknownIfNone(err)
	}
	var earlier int
	err = tx.QueryRow(ctx, s.sql.committed, o.SKU, o.ID).Scan(&earlier)
	if err == nil {
		return earlier, nil // the same order once more: the same answer
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return 0, err
	}
	var n int64
	err = tx.QueryRow(ctx, s.sql.write, o.SKU, units, fence, o.Token).Scan(&n)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, inventory.ErrStaleToken // the row is there: the fence has refused it
	}
	if err != nil {
		return 0, err
	}
	_, err = tx.Exec(ctx, s.sql.addOrder, o.SKU, n, o.ID, o.Token, o.Instance, o.Buyer, before)
	return before, err
}
