package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Home is a schema made for one owner, with a connection that watches over it.
// Remove it.
type Home struct {
	dsn, schema string
	server      string
	cancel      context.CancelFunc
	watching    sync.WaitGroup
	lost        chan struct{}
	why         error // read after lost

	once    sync.Once
	removed error
}

// Make makes the schema, with tables of stock and orders that are empty, after
// removing what owners that died have left in this database. It refuses a
// schema that is there already. After an error nothing is left.
func Make(ctx context.Context, dsn, schema string) (*Home, error) {
	conn, err := single(ctx, dsn)
	if err != nil {
		return nil, err
	}
	h := &Home{dsn: dsn, schema: schema, lost: make(chan struct{})}
	if err := h.build(ctx, conn); err != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
		return nil, explain(fmt.Errorf("make the schema %q: %w", schema, err))
	}
	watch, cancel := context.WithCancel(context.Background())
	h.cancel = cancel
	h.watching.Go(func() { h.watch(watch, conn) })
	return h, nil
}

// single opens one connection.
func single(ctx context.Context, dsn string) (*pgx.Conn, error) {
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, unreadable(err)
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectTimeout
	}
	c.RuntimeParams["application_name"] = "oversell"
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return nil, explain(fmt.Errorf("connect to PostgreSQL: %w", err))
	}
	return conn, nil
}

// build claims the schema's name before it makes the schema: one that nobody
// claims is a dead owner's.
func (h *Home) build(ctx context.Context, conn *pgx.Conn) error {
	h.server = serverOf(conn)
	if err := sweep(ctx, conn); err != nil {
		return fmt.Errorf("remove what dead runs left: %w", err)
	}
	if err := claim(ctx, conn, h.schema); err != nil {
		return err
	}
	return create(ctx, conn, h.schema, "made "+time.Now().UTC().Format(time.RFC3339))
}

// serverOf is what the server says of itself, without who packaged it.
func serverOf(conn *pgx.Conn) string {
	version, _, _ := strings.Cut(conn.PgConn().ParameterStatus("server_version"), " ")
	return "PostgreSQL " + version
}

// claim fails at once when somebody else has the claim.
func claim(ctx context.Context, conn *pgx.Conn, schema string) error {
	var free bool
	err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1, $2)`, int32(lockClass), lockOf(schema)).Scan(&free)
	if err == nil && !free {
		err = inUse(schema)
	}
	return err
}

// Server is what the server says of itself, e.g. "PostgreSQL 15.18".
func (h *Home) Server() string { return h.server }

// Lost is closed when the database has gone for good.
func (h *Home) Lost() <-chan struct{} { return h.lost }

// Why says how that was seen, once Lost is closed.
func (h *Home) Why() error {
	<-h.lost
	return h.why
}

// watch waits for the connection to end, and looks whether the database has
// ended with it.
func (h *Home) watch(ctx context.Context, conn *pgx.Conn) {
	for {
		_, err := conn.WaitForNotification(ctx) // none is ever sent
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		_ = conn.Close(closing)
		cancel()
		if ctx.Err() != nil {
			return
		}
		fresh, again := h.reconnect(ctx)
		if ctx.Err() != nil {
			return
		}
		if again != nil {
			h.why = explain(fmt.Errorf("the database has gone, and the next run that uses it removes the schema %q if that is still there: %w; %w",
				h.schema, err, again))
			close(h.lost)
			return
		}
		conn = fresh
	}
}

// patience is how long a database may be away: its restart, not a blink, is
// what a run must not outlive.
const patience = 2 * time.Second

// errGone is of a schema that won't come back.
var errGone = errors.New("is no longer there")

// retryEvery is the pause between two attempts to reconnect.
const retryEvery = 100 * time.Millisecond

// reconnect tries for a while to claim the schema on a new connection.
func (h *Home) reconnect(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var last error
	for {
		conn, err := h.reclaim(ctx)
		if err == nil || errors.Is(err, errGone) {
			return conn, err
		}
		if last == nil || ctx.Err() == nil {
			last = err // what comes after the end says only that it has ended
		}
		select {
		case <-ctx.Done():
			return nil, last
		case <-time.After(retryEvery):
		}
	}
}

// reclaim claims the schema on a new connection, if it is still there.
func (h *Home) reclaim(ctx context.Context) (*pgx.Conn, error) {
	conn, err := single(ctx, h.dsn)
	if err != nil {
		return nil, err
	}
	_, exists, err := markOf(ctx, conn, h.schema)
	if err == nil && !exists {
		err = fmt.Errorf("the schema %q %w", h.schema, errGone)
	}
	if err == nil {
		err = claim(ctx, conn, h.schema)
	}
	if err != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return conn, nil
}

// Remove removes the schema that Make made, and nothing else. Removing it
// again returns the same. The schema of a database that was lost stays for the
// next Make to remove; that, too, is no error: Why tells.
func (h *Home) Remove(ctx context.Context) error {
	h.once.Do(func() {
		h.Leave()
		conn, err := single(ctx, h.dsn)
		if err != nil && h.isLost() {
			return
		}
		if err != nil {
			err = fmt.Errorf("%w (the next run that uses the database removes it)", err)
		} else {
			err = errors.Join(drop(ctx, conn, h.schema), conn.Close(ctx))
		}
		if err != nil {
			h.removed = explain(fmt.Errorf("remove the schema %q: %w", h.schema, err))
		}
	})
	return h.removed
}

func (h *Home) isLost() bool {
	select {
	case <-h.lost:
		return true
	default:
		return false
	}
}

// Leave ends the watch and removes nothing: the database itself goes.
func (h *Home) Leave() {
	h.cancel()
	h.watching.Wait()
}
