package pgstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/inventory"
	"github.com/oversell/oversell/inventory/pgstore"
)

func TestAForeignSchemaIsLeftAlone(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	exec(t, dsn, "CREATE SCHEMA oversell", "CREATE TABLE oversell.stock (sku text, mine int)", "INSERT INTO oversell.stock VALUES ('book', 7)")
	_, err := pgstore.Make(t.Context(), dsn, pgstore.DefaultSchema)
	require.ErrorContains(t, err, `the schema "oversell" is there already, and isn't oversell's`)
	assert.Contains(t, hint.Of(err), "oversell leaves it alone")

	// An invocation's own schema is another one.
	place, err := pgstore.NewExisting(dsn).Start(t.Context(), "0102t150405-ab")
	require.NoError(t, err)
	assert.Equal(t, []string{"oversell", "oversell_0102t150405_ab"}, schemas(t, dsn))
	require.NoError(t, place.Close(t.Context()))
	require.NoError(t, place.Close(t.Context()), "closing again")
	assert.Equal(t, []string{"oversell"}, schemas(t, dsn))
	var mine int
	require.NoError(t, connect(t, dsn).QueryRow(t.Context(), "SELECT mine FROM oversell.stock").Scan(&mine))
	assert.Equal(t, 7, mine)
}

func TestWhatSomebodyPutIntoTheSchemaStays(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	h, err := pgstore.Make(t.Context(), dsn, "a")
	require.NoError(t, err)
	exec(t, dsn, "CREATE TABLE a.theirs (x int)")
	require.ErrorContains(t, h.Remove(t.Context()), "other objects depend on it")
	var tables []string
	require.NoError(t, connect(t, dsn).QueryRow(t.Context(),
		"SELECT array_agg(relname::text) FROM pg_class WHERE relnamespace = 'a'::regnamespace AND relkind = 'r'").Scan(&tables))
	assert.Equal(t, []string{"theirs"}, tables)

	unmarked, err := pgstore.Make(t.Context(), dsn, "b")
	require.NoError(t, err)
	exec(t, dsn, "COMMENT ON SCHEMA b IS 'mine now'")
	require.ErrorContains(t, unmarked.Remove(t.Context()), "has lost its mark")
	assert.Contains(t, schemas(t, dsn), "b")
}

func TestSchemasOfDeadRunsAreSwept(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	living := makeHome(t, dsn, "living")
	dead, err := pgstore.Make(t.Context(), dsn, "dead")
	require.NoError(t, err)
	dead.Leave()                        // as if its process had been killed
	require.Eventually(t, func() bool { // the server frees a dead connection's claim when it notices
		h, err := pgstore.Make(t.Context(), dsn, "next")
		require.NoError(t, err)
		require.NoError(t, h.Remove(t.Context()))
		return assert.ObjectsAreEqual([]string{"living"}, schemas(t, dsn))
	}, limit, 10*time.Millisecond)
	_, err = pgstore.Make(t.Context(), dsn, "living")
	require.ErrorContains(t, err, "in use by another run")
	select {
	case <-living.Lost():
		t.Fatal(living.Why())
	default:
	}
}

func TestALostConnectionIsNotALostDatabase(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	h := makeHome(t, dsn, "kept")
	conn := connect(t, dsn)
	// Its watch is idle: it only ever made the schema.
	holder := func() (pid int) {
		err := conn.QueryRow(t.Context(), `SELECT pid FROM pg_locks
			WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&pid)
		if !errors.Is(err, pgx.ErrNoRows) {
			require.NoError(t, err)
		}
		return pid
	}
	end := func(pid int) {
		var ended bool
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT pg_terminate_backend($1)", pid).Scan(&ended))
		require.True(t, ended)
	}
	first := holder()
	end(first)
	require.Eventually(t, func() bool { // the first may take its time to go
		pid := holder()
		return pid != 0 && pid != first
	}, limit, 5*time.Millisecond, "the schema is claimed again")
	select {
	case <-h.Lost():
		t.Fatal(h.Why())
	default:
	}

	// A schema that is gone doesn't come back.
	exec(t, dsn, "DROP SCHEMA kept CASCADE")
	end(holder())
	select {
	case <-h.Lost():
		assert.ErrorContains(t, h.Why(), `the schema "kept" is no longer there`)
	case <-time.After(limit):
		t.Fatal("nobody noticed")
	}
}

func TestWithoutTheRightToMakeASchema(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	exec(t, dsn, "CREATE ROLE guest LOGIN PASSWORD 'guest'")
	guest := "postgres://guest:guest@" + dsn[len("postgres://oversell:")+len("0123456789abcdef0123456789abcdef@"):]
	_, err := pgstore.NewExisting(guest).Start(t.Context(), "x")
	require.ErrorContains(t, err, "permission denied for database")
	assert.Contains(t, hint.Of(err), "GRANT CREATE ON DATABASE")
	exec(t, dsn, "DROP ROLE guest")
}

func TestPlace(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	source := pgstore.NewExisting(dsn)
	assert.Equal(t, inventory.Postgres, source.Driver())
	place, err := source.Start(t.Context(), "Some Run")
	require.NoError(t, err)
	defer func() { assert.NoError(t, place.Close(context.Background())) }()
	assert.Equal(t, "oversell_some_run", place.Schema)
	s := open(t, place.DSN, place.Schema)
	require.NoError(t, s.Reset(t.Context(), "book", 1))
}
