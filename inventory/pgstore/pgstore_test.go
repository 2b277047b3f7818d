package pgstore_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/inventory"
	"github.com/oversell/oversell/inventory/inventorytest"
	"github.com/oversell/oversell/inventory/pgstore"
)

func TestContract(t *testing.T) {
	dsn := database(t)
	makeHome(t, dsn, pgstore.DefaultSchema)
	t.Run("store", func(t *testing.T) { // ends before the schema goes
		inventorytest.Run(t, func(t *testing.T) inventory.Store {
			s, err := pgstore.Open(t.Context(), dsn, pgstore.Options{})
			require.NoError(t, err)
			return s
		})
	})
}

// Whatever a database's defaults are, commits see what was committed before.
func TestContractWhereTransactionsAreSerializableByDefault(t *testing.T) {
	dsn := database(t)
	makeHome(t, dsn, "weird \"name\"; DROP")
	name := dsn[strings.LastIndex(dsn, "/")+1 : strings.Index(dsn, "?")]
	exec(t, dsn, "ALTER DATABASE "+name+" SET default_transaction_isolation = 'serializable'",
		"ALTER DATABASE "+name+" SET default_transaction_read_only = on")
	t.Run("store", func(t *testing.T) {
		inventorytest.Run(t, func(t *testing.T) inventory.Store {
			s, err := pgstore.Open(t.Context(), dsn, pgstore.Options{Schema: "weird \"name\"; DROP"})
			require.NoError(t, err)
			return s
		})
	})
	exec(t, dsn, "SET default_transaction_read_only = off", "ALTER DATABASE "+name+" RESET default_transaction_read_only")
}

func TestErrorsSayWhatWasBeingDone(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	s := open(t, dsn, "never made")
	ctx := t.Context()

	const gone = `relation "never made.stock" does not exist`
	for what, err := range map[string]error{
		`reset "book" to 3 units: `:    s.Reset(ctx, "book", 3),
		`begin a purchase of "book": `: func() error { _, _, err := s.Begin(ctx, "book"); return err }(),
		`commit order "7": `:           func() error { _, err := s.Commit(ctx, inventory.Order{ID: "7", SKU: "book"}, 2, true); return err }(),
		`read the orders of "book": `:  func() error { _, err := s.Orders(ctx, "book"); return err }(),
		`read the stock of "book": `:   func() error { _, err := s.Units(ctx, "book"); return err }(),
	} {
		require.ErrorContains(t, err, what)
		require.ErrorContains(t, err, gone)
	}
}

func TestConnectionsThatFailSayWhatToDo(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	for name, tc := range map[string]struct{ dsn, text, hint string }{
		"wrong password": {
			strings.Replace(dsn, "oversell:", "oversell:wrong", 1), "password authentication failed", "check the user and the password: PGPASSWORD or ~/.pgpass keep it off the command line",
		},
		"no such user": {
			strings.Replace(dsn, "//oversell:", "//nobody:", 1), `user "nobody"`, "check the user and the password: PGPASSWORD or ~/.pgpass keep it off the command line",
		},
		"no such database": {
			strings.Replace(dsn, "/test_", "/none_", 1), "does not exist", "there is no such database: create it, or name another one in --inventory-url",
		},
		"nothing listens": {
			"postgres://someone:secret@127.0.0.1:1/x", "connection refused", "nothing listens there: start PostgreSQL, or correct host and port in --inventory-url",
		},
		"no such host": {
			"postgres://someone:secret@no.such.host.invalid/x", "no.such.host.invalid", "no address is known for no.such.host.invalid: check the host in --inventory-url",
		},
		"no TLS": {
			strings.Replace(dsn, "sslmode=disable", "sslmode=require", 1), "TLS", "check sslmode, sslrootcert and their likes in --inventory-url",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := pgstore.NewExisting(tc.dsn).Probe(t.Context())
			require.ErrorContains(t, err, tc.text)
			assert.Equal(t, tc.hint, hint.Of(err))
			assert.NotContains(t, err.Error(), "secret")
			assert.NotContains(t, err.Error(), "wrong")
		})
	}
}

func TestTooManyConnectionsSayWhatToDo(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	name := dsn[strings.LastIndex(dsn, "/")+1 : strings.Index(dsn, "?")]
	exec(t, dsn, "CREATE ROLE few LOGIN PASSWORD 'few' CONNECTION LIMIT 1", "GRANT ALL ON DATABASE "+name+" TO few")
	few := "postgres://few:few@" + dsn[strings.LastIndex(dsn, "@")+1:]
	held := connect(t, few)
	_, err := pgstore.Open(t.Context(), few, pgstore.Options{})
	require.ErrorContains(t, err, "too many connections")
	assert.Contains(t, hint.Of(err), "max_connections")
	require.NoError(t, held.Close(t.Context()))
	exec(t, dsn, "REVOKE ALL ON DATABASE "+name+" FROM few", "DROP ROLE few")
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	require.NoError(t, pgstore.CheckURL("postgres://user:secret@host:5432/shop?sslmode=verify-full"))
	require.NoError(t, pgstore.CheckURL("postgresql:///shop?host=/run/postgresql"))
	for _, url := range []string{
		"redis://:secret@host", "host=h password=secret", "postgres://user:secret@host:port/shop",
		"postgres://user:secret@host/shop?sslmode=sometimes", "postgres://user:sec%ret@host", "postgres://h/x?password=secret&sslmode=secret",
	} {
		err := pgstore.CheckURL(url)
		require.Error(t, err, url)
		assert.Contains(t, err.Error(), "the inventory's URL: ")
		assert.NotContains(t, err.Error(), "user")
		assert.NotContains(t, err.Error(), "sec%ret")
		assert.NotEmpty(t, hint.Of(err))
	}
}

func TestPasswordFromTheEnvironment(t *testing.T) {
	dsn := database(t)
	password, _, _ := strings.Cut(dsn[len("postgres://oversell:"):], "@")
	t.Setenv("PGPASSWORD", password)
	what, err := pgstore.NewExisting(strings.Replace(dsn, ":"+password, "", 1)).Probe(t.Context())
	require.NoError(t, err)
	assert.Regexp(t, `^PostgreSQL \S+.* at 127\.0\.0\.1:\d+, database test_\d+$`, what)
	assert.NotContains(t, what, password)
}

func TestAnEndedContextIsNoConnectionProblem(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := pgstore.Open(ctx, database(t), pgstore.Options{})
	require.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, hint.Of(err))
}
