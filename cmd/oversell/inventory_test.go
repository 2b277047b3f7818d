package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/inventory"
	"github.com/oversell/oversell/inventory/inventorytest"
	"github.com/oversell/oversell/inventory/pgserver"
)

// program is the real program, to be started in a folder of its own.
func program(t *testing.T, dir string, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd = exec.Command(exe, args...)
	cmd.Args[0] = "oversell" // by which the test binary is the program
	cmd.Dir = dir
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

// database starts a PostgreSQL with something of somebody's in it.
func database(t *testing.T) *inventory.Place {
	t.Helper()
	if ok, err := backendThere(t, "process"); !ok {
		t.Skipf("needs redis-server: %v", err)
	}
	inventorytest.RequirePostgres(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	place, err := pgserver.New(nil).Start(ctx, "existing")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, place.Close(context.Background())) })
	conn, err := pgx.Connect(t.Context(), place.DSN)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), `CREATE SCHEMA oversell; CREATE TABLE oversell.stock (mine int); INSERT INTO oversell.stock VALUES (7)`)
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	return place
}

// password is the one in a URL.
func password(t *testing.T, dsn string) string {
	t.Helper()
	_, rest, _ := strings.Cut(dsn, "://oversell:")
	word, _, ok := strings.Cut(rest, "@")
	require.True(t, ok)
	return word
}

func TestADatabaseOfYourOwn(t *testing.T) {
	place := database(t)
	dir := t.TempDir()
	cmd, stdout, stderr := program(t, dir, "run", "--backend", "process", "--inventory-url", place.DSN,
		"--lock", "naive", "--stock", "30", "--instances", "2", "--buyers", "40")
	require.NoError(t, cmd.Run(), "%s%s", stdout, stderr)
	assert.Contains(t, stderr.String(), "inventory postgres: PostgreSQL ")
	assert.Contains(t, stderr.String(), "$PGPASSWORD keeps them off it")
	assert.Contains(t, stdout.String(), " --inventory-url 'postgres://oversell@127.0.0.1:")

	word := password(t, place.DSN)
	assert.NotContains(t, stdout.String()+stderr.String(), word)
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		assert.NotContains(t, string(text), word, path)
		return err
	}))

	conn, err := pgx.Connect(t.Context(), place.DSN)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	rows, err := conn.Query(t.Context(), `SELECT nspname FROM pg_namespace WHERE nspname LIKE 'oversell%' ORDER BY 1`)
	require.NoError(t, err)
	schemas, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	assert.Equal(t, []string{"oversell", place.Schema}, schemas, "only what was there before")
	var mine int
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT mine FROM oversell.stock`).Scan(&mine))
	assert.Equal(t, 7, mine)
}

func TestADatabaseThatDiesDuringTheRun(t *testing.T) {
	place := database(t)
	dir := t.TempDir()
	cmd, _, stderr := program(t, dir, "run", "--backend", "process", "--inventory-url", place.DSN, "--lock", "naive", "--stock", "400")
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool {
		found, _ := filepath.Glob(filepath.Join(dir, "runs", "2*", "history.jsonl"))
		if len(found) == 0 {
			return false
		}
		text, err := os.ReadFile(found[0])
		return err == nil && bytes.Contains(text, []byte(`"kind":"committed"`))
	}, time.Minute, 5*time.Millisecond, "the load begins")
	require.NoError(t, place.Close(t.Context()))

	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	assert.Equal(t, exitEnvironment, exit.ExitCode(), stderr)
	assert.Contains(t, stderr.String(), "the inventory was lost during the run, so nothing can be judged: ")
	assert.Contains(t, stderr.String(), "the history is kept in runs/")
	assert.Contains(t, stderr.String(), "\nhint: ")
	assert.NotContains(t, stderr.String(), password(t, place.DSN))
}
