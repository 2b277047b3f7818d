package pgstore

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/oversell/oversell/internal/hint"
)

// mark begins the comment of every schema that Make has made. A schema without
// it is somebody else's, and left alone.
const mark = "oversell inventory v1"

// lockClass is the first half of the advisory locks that tell living owners
// from dead ones: each holds one for its schema as long as its connection lives.
const lockClass = 0x6f766572

func lockOf(schema string) int32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(schema))
	return int32(h.Sum32())
}

// markOf returns the comment of a schema; exists is false when there is none.
func markOf(ctx context.Context, q querier, schema string) (comment string, exists bool, err error) {
	err = q.QueryRow(ctx, `SELECT coalesce(obj_description(oid, 'pg_namespace'), '') FROM pg_namespace WHERE nspname = $1`,
		schema).Scan(&comment)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", false, nil
	}
	return comment, err == nil, err
}

// querier is a connection or a transaction.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Begin(ctx context.Context) (pgx.Tx, error)
}

// create makes the schema with its tables, or nothing.
func create(ctx context.Context, q querier, schema, note string) error {
	return pgx.BeginFunc(ctx, q, func(tx pgx.Tx) error {
		comment, exists, err := markOf(ctx, tx, schema)
		switch {
		case err != nil:
			return err
		case exists && !strings.HasPrefix(comment, mark):
			return hint.Wrap(fmt.Errorf("the schema %q is there already, and isn't oversell's", schema),
				"oversell leaves it alone: name another database in --inventory-url, or remove the schema yourself")
		case exists:
			return inUse(schema)
		}
		in := names(schema)
		make := append([]string{
			in(`CREATE SCHEMA {schema}`),
			// A comment takes no parameters; the note is our own.
			in(`COMMENT ON SCHEMA {schema} IS '`) + strings.ReplaceAll(mark+"; "+note, "'", "''") + `'`,
		}, tablesOf(schema)...)
		for _, sql := range make {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return err
			}
		}
		return nil
	})
}

func inUse(schema string) error {
	return hint.Wrap(fmt.Errorf("the schema %q is in use by another run", schema),
		"wait until that run has ended")
}

// drop removes the tables and the schema, if it is one that was marked. A
// schema that somebody has put something else into stays, with that in it.
func drop(ctx context.Context, q querier, schema string) error {
	comment, exists, err := markOf(ctx, q, schema)
	if err != nil || !exists {
		return err
	}
	if !strings.HasPrefix(comment, mark) {
		return fmt.Errorf("the schema %q has lost its mark: it is left alone", schema)
	}
	in := names(schema)
	if _, err := q.Exec(ctx, in(`DROP TABLE IF EXISTS {orders}, {stock}`)); err != nil {
		return err
	}
	_, err = q.Exec(ctx, in(`DROP SCHEMA IF EXISTS {schema} RESTRICT`))
	return err
}

// sweep removes the schemas of runs that died: nobody holds their lock.
func sweep(ctx context.Context, q querier) error {
	rows, err := q.Query(ctx, `SELECT nspname FROM pg_namespace WHERE obj_description(oid, 'pg_namespace') LIKE $1 || '%'`, mark)
	if err != nil {
		return err
	}
	marked, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	var errs []error
	for _, schema := range marked {
		errs = append(errs, sweepOne(ctx, q, schema))
	}
	return errors.Join(errs...)
}

func sweepOne(ctx context.Context, q querier, schema string) error {
	var dead bool
	if err := q.QueryRow(ctx, `SELECT pg_try_advisory_lock($1, $2)`, int32(lockClass), lockOf(schema)).Scan(&dead); err != nil {
		return err
	}
	if !dead {
		return nil
	}
	err := drop(ctx, q, schema)
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pg.Code {
		case "42501", "2BP01": // another user's, or with something else in it by now
			err = nil
		}
	}
	_, unlock := q.Exec(ctx, `SELECT pg_advisory_unlock($1, $2)`, int32(lockClass), lockOf(schema))
	return errors.Join(err, unlock)
}
