package pgstore

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/oversell/oversell/inventory"
)

// Existing is the inventory.Source that uses a database which is there
// already: in a schema of the invocation's own, which is removed at the end.
type Existing struct{ url string }

var _ inventory.Source = (*Existing)(nil)

// NewExisting makes a source of the database at url, see CheckURL.
func NewExisting(url string) *Existing { return &Existing{url: url} }

// Driver implements inventory.Source.
func (e *Existing) Driver() string { return inventory.Postgres }

// Probe implements inventory.Source: it connects.
func (e *Existing) Probe(ctx context.Context) (string, error) {
	conn, err := single(ctx, e.url)
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return fmt.Sprintf("%s at %s", serverOf(conn), where(conn.Config())), nil
}

// where is the server and the database, without whoever uses it.
func where(c *pgx.ConnConfig) string {
	at := net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
	if strings.HasPrefix(c.Host, "/") {
		at = c.Host
	}
	return at + ", database " + c.Database
}

// Start implements inventory.Source.
func (e *Existing) Start(ctx context.Context, run string) (*inventory.Place, error) {
	return Settle(ctx, e.url, run)
}

// Settle makes a schema for the invocation, which goes when the place is closed.
func Settle(ctx context.Context, dsn, run string) (*inventory.Place, error) {
	schema := SchemaOf(run)
	home, err := Make(ctx, dsn, schema)
	if err != nil {
		return nil, err
	}
	return &inventory.Place{
		Driver: inventory.Postgres, Server: home.Server(), DSN: dsn, Schema: schema,
		Lost: home.Lost(), Why: home.Why, OnClose: home.Remove,
	}, nil
}

// SchemaOf is the name of an invocation's schema.
func SchemaOf(run string) string {
	name := DefaultSchema + "_" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(run))
	return name[:min(len(name), longestName)]
}

// longestName is where PostgreSQL cuts a name off.
const longestName = 63
