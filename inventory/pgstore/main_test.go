package pgstore_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/oversell/oversell/inventory"
	"github.com/oversell/oversell/inventory/inventorytest"
	"github.com/oversell/oversell/inventory/pgserver"
	"github.com/oversell/oversell/inventory/pgstore"
)

// shared is one server for all tests, started when the first asks for it.
var shared struct {
	sync.Mutex
	place *inventory.Place
}

func TestMain(m *testing.M) {
	code := m.Run()
	if err := shared.place.Close(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// database is the URL of a database of the test's own.
func database(t *testing.T) string {
	t.Helper()
	inventorytest.RequirePostgres(t)
	shared.Lock()
	defer shared.Unlock()
	if shared.place == nil {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		place, err := pgserver.New(nil).Start(ctx, "pgstore-test")
		require.NoError(t, err)
		shared.place = place
	}
	name := fmt.Sprintf("test_%d", databases.Add(1))
	exec(t, shared.place.DSN, "CREATE DATABASE "+name)
	return strings.Replace(shared.place.DSN, "/postgres?", "/"+name+"?", 1)
}

var databases atomic.Int64

// limit bounds every wait. It is no expectation.
const limit = 2 * time.Minute

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func exec(t *testing.T, dsn string, statements ...string) {
	t.Helper()
	conn := connect(t, dsn)
	for _, sql := range statements {
		_, err := conn.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
	require.NoError(t, conn.Close(t.Context()))
}

// schemas lists the schemas that aren't PostgreSQL's own.
func schemas(t *testing.T, dsn string) []string {
	t.Helper()
	rows, err := connect(t, dsn).Query(t.Context(),
		`SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname NOT IN ('information_schema', 'public') ORDER BY 1`)
	require.NoError(t, err)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return list
}

// makeHome makes a schema that goes with the test.
func makeHome(t *testing.T, dsn, schema string) *pgstore.Home {
	t.Helper()
	h, err := pgstore.Make(t.Context(), dsn, schema)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, h.Remove(context.Background())) })
	return h
}

func open(t *testing.T, dsn, schema string) *pgstore.Store {
	t.Helper()
	s, err := pgstore.Open(t.Context(), dsn, pgstore.Options{Schema: schema})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}
