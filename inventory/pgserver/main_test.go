package pgserver_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/oversell/oversell/internal/child"
	"github.com/oversell/oversell/internal/folder"
	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/inventory"
	"github.com/oversell/oversell/inventory/inventorytest"
	"github.com/oversell/oversell/inventory/pgserver"
	"github.com/oversell/oversell/inventory/pgstore"
)

// ownerEnv makes this test binary start a server of the run that it names, and
// wait to be killed.
const ownerEnv = "PGSERVER_TEST_OWNER"

func TestMain(m *testing.M) {
	if run := os.Getenv(ownerEnv); run != "" {
		own(run)
	}
	goleak.VerifyTestMain(m)
}

func own(run string) {
	place, err := pgserver.New(nil).Start(context.Background(), run)
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println("started", place.Server)
	select {}
}

// limit bounds every wait. It is no expectation.
const limit = 2 * time.Minute

func start(t *testing.T, run string) *inventory.Place {
	t.Helper()
	inventorytest.RequirePostgres(t)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	place, err := pgserver.New(nil).Start(ctx, run)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, place.Close(context.Background()))
		// The processes of a killed server end when they notice.
		assert.Eventually(t, func() bool { return len(leftovers(t, run)) == 0 }, limit, time.Millisecond)
	})
	return place
}

// leftovers lists the folders of a run, and the processes that work in one.
func leftovers(t *testing.T, run string) []string {
	t.Helper()
	var found []string
	for _, base := range slices.Compact([]string{filepath.Clean(os.TempDir()), "/tmp"}) {
		prefix := filepath.Join(base, "oversell-"+run+"-")
		folders, err := filepath.Glob(prefix + "*")
		require.NoError(t, err)
		found = append(found, folders...)
		cwds, err := filepath.Glob("/proc/[0-9]*/cwd") // none where there is no /proc
		require.NoError(t, err)
		for _, link := range cwds {
			if cwd, err := os.Readlink(link); err == nil && strings.HasPrefix(cwd, prefix) {
				found = append(found, link+" -> "+cwd)
			}
		}
	}
	return found
}

func TestContract(t *testing.T) {
	place := start(t, "contract")
	assert.Regexp(t, `^PostgreSQL \d+`, place.Server)
	// Not parallel with what follows: the server goes when this test ends.
	t.Run("store", func(t *testing.T) {
		inventorytest.Run(t, func(t *testing.T) inventory.Store {
			s, err := pgstore.Open(t.Context(), place.DSN, pgstore.Options{Schema: place.Schema})
			require.NoError(t, err)
			return s
		})
	})
}

func TestProbeSaysWhatWouldBeUsed(t *testing.T) {
	inventorytest.RequirePostgres(t)
	what, err := pgserver.New(nil).Probe(t.Context())
	require.NoError(t, err)
	assert.Regexp(t, `^PostgreSQL \d+\S* from /`, what)
}

func TestALostServerIsNoticed(t *testing.T) {
	const run = "lost"
	place := start(t, run)
	for _, l := range leftovers(t, run) {
		if link, cwd, ok := strings.Cut(l, " -> "); ok && strings.HasSuffix(cwd, "/data") {
			var pid int
			_, err := fmt.Sscanf(link, "/proc/%d/cwd", &pid)
			require.NoError(t, err)
			if leader(t, pid) {
				p, err := os.FindProcess(pid)
				require.NoError(t, err)
				require.NoError(t, p.Kill())
			}
		}
	}
	select {
	case <-place.Lost:
	case <-time.After(limit):
		t.Fatal("nobody noticed")
	}
	err := place.Why()
	assert.ErrorContains(t, err, "PostgreSQL ended (pid ")
	assert.ErrorContains(t, err, "signal: killed")
	assert.NotEmpty(t, hint.Of(err))
}

// leader reports whether a process leads its group, as the server does among
// its own processes.
func leader(t *testing.T, pid int) bool {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false // it has ended meanwhile
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	require.Greater(t, len(fields), 2)
	return fields[2] == fmt.Sprint(pid)
}

func TestTheServerDiesWithItsRunAndCleanRemovesTheRest(t *testing.T) {
	inventorytest.RequirePostgres(t)
	const run = "owner"
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), ownerEnv+"="+run)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	defer out.Close()
	p, err := child.Start(cmd)
	require.NoError(t, err)
	defer func() {
		_, _ = p.Kill(context.Background())
		<-p.Done()
	}()
	line := make([]byte, 64)
	n, err := out.Read(line)
	require.NoError(t, err)
	require.Contains(t, string(line[:n]), "started PostgreSQL ")

	_, err = p.Kill(t.Context())
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(leftovers(t, run)) == 1 }, limit, 10*time.Millisecond,
		"the server must die with its run, and only the folder may be left")
	left, err := folder.Leftovers(t.Context())
	require.NoError(t, err)
	require.Contains(t, left, leftovers(t, run)[0])
	require.NoError(t, os.RemoveAll(leftovers(t, run)[0]))
}

func TestEndingTheContextDuringTheStartLeavesNothing(t *testing.T) {
	inventorytest.RequirePostgres(t)
	const run = "cancelled"
	for _, stage := range []string{"initdb.log", "postgres.log"} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			place, err := pgserver.New(nil).Start(ctx, run)
			if err == nil {
				err = place.Close(context.Background())
			}
			done <- err
		}()
		require.Eventually(t, func() bool {
			found, _ := filepath.Glob(filepath.Join(os.TempDir(), "oversell-"+run+"-*", stage))
			return len(found) > 0
		}, limit, time.Millisecond)
		cancel()
		if err := <-done; err != nil { // it may have been quicker
			require.ErrorIs(t, err, context.Canceled)
		}
		require.Eventually(t, func() bool { return len(leftovers(t, run)) == 0 }, limit, time.Millisecond)
	}
}

func TestNotInstalled(t *testing.T) {
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin"); len(found) > 0 {
		t.Skip("needs a machine on which PostgreSQL is only found by PATH, if at all")
	}
	t.Setenv("PATH", t.TempDir())
	_, err := pgserver.New(nil).Probe(t.Context())
	require.ErrorContains(t, err, "PostgreSQL isn't installed")
	assert.Contains(t, hint.Of(err), "--inventory-url")
}
