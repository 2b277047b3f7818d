package pgstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/inventory"
)

// advice is what to do about an answer of PostgreSQL, by its SQLSTATE code.
var advice = map[string]string{
	"28P01": "check the user and the password: PGPASSWORD or ~/.pgpass keep it off the command line",
	"28000": "this user may not connect from here: check the user and the server's pg_hba.conf",
	"3D000": "there is no such database: create it, or name another one in --inventory-url",
	"42501": "the user must be allowed to make a schema: GRANT CREATE ON DATABASE ... TO ...",
	"25006": "this server only reads: name the primary in --inventory-url",
	"53300": "every instance needs up to 4 connections: raise max_connections, or ask for fewer --instances",
	"53100": "the database server's disk is full",
	"57P03": "the server is starting up or shutting down: try again once it is there",
	"57P01": "somebody has shut the database server down",
}

// explain adds a hint to an error of the database, if there is one to give and
// it has none yet. What the caller's context or the contract says needs none.
func explain(err error) error {
	if err == nil || hint.Of(err) != "" || errors.Is(err, context.Canceled) ||
		errors.Is(err, inventory.ErrUnknownSKU) || errors.Is(err, inventory.ErrStaleToken) {
		return err
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		if text := advice[pg.Code]; text != "" {
			return hint.Wrap(err, "%s", text)
		}
		return err
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return hint.Wrap(err, "no address is known for %s: check the host in --inventory-url", dns.Name)
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return hint.Wrap(err, "nothing listens there: start PostgreSQL, or correct host and port in --inventory-url")
	case errors.Is(err, context.DeadlineExceeded):
		return hint.Wrap(err, "the database didn't answer in time: check host, port and firewall")
	case strings.Contains(err.Error(), "tls"), strings.Contains(err.Error(), "certificate"):
		return hint.Wrap(err, "check sslmode, sslrootcert and their likes in --inventory-url")
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return hint.Wrap(err, "check --inventory-url, and whether the server is there")
	}
	return err
}

// unreadable is the error of a DSN that can't be read. What the library says
// repeats the DSN, and a password may be where nobody looks for one.
func unreadable(err error) error {
	text := "it can't be read"
	if _, reason, ok := cutLast(err.Error(), "`: "); ok {
		text = reason
	}
	return hint.Wrap(fmt.Errorf("the inventory's URL: %s", text),
		"for example postgres://user@host:5432/database, with the password in PGPASSWORD or ~/.pgpass")
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// CheckURL returns nil for a URL that Open can read, else why not. It connects
// to nothing, and never repeats the URL.
func CheckURL(url string) error {
	if !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		return hint.Wrap(errors.New("the inventory's URL: it doesn't begin with postgres://"),
			"for example postgres://user@host:5432/database")
	}
	if _, err := pgconn.ParseConfig(url); err != nil {
		return unreadable(err)
	}
	return nil
}
