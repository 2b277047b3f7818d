package process_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/clustertest"
	"github.com/oversell/oversell/cluster/process"
	"github.com/oversell/oversell/internal/child"
)

// ownerEnv makes this test binary start a cluster of the run that it names,
// print its folder's owner, and wait to be killed.
const ownerEnv = "PROCESS_TEST_OWNER"

func own() {
	c, err := process.New().Start(context.Background(), cluster.Spec{Run: os.Getenv(ownerEnv), Name: "a", Shape: cluster.Single})
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println("started", c.Server)
	select {}
}

func TestServersDieWithTheirRunAndCleanRemovesTheRest(t *testing.T) {
	b := process.New()
	clustertest.Require(t, b, "")
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	run := "owner-test"
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
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "started ")
	require.NotEmpty(t, leftovers(t, run))

	none, err := b.Leftovers(t.Context())
	require.NoError(t, err)
	assert.Empty(t, none, "its run lives")
	removed, err := b.Clean(t.Context())
	require.NoError(t, err)
	assert.Empty(t, removed, "its run lives")

	_, err = p.Kill(t.Context())
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(leftovers(t, run)) == 1 }, clustertest.Timeout, time.Millisecond,
		"the server must die with its run, and only the folder may be left")
	found, err := b.Leftovers(t.Context())
	require.NoError(t, err)
	require.Equal(t, leftovers(t, run), found)
	removed, err = b.Clean(t.Context())
	require.NoError(t, err)
	assert.Equal(t, found, removed)
	assert.Empty(t, leftovers(t, run))
}

func TestCleanLeavesAloneWhatItCannotTell(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	old := time.Now().Add(-time.Hour)
	folder := func(name string, files ...string) string {
		path := filepath.Join(tmp, name)
		require.NoError(t, os.Mkdir(path, 0o700))
		for _, f := range files {
			require.NoError(t, os.WriteFile(filepath.Join(path, f), nil, 0o600))
		}
		return path
	}
	folder("oversell-young")                               // perhaps about to be signed
	foreign := folder("oversell-foreign", "somebody-else") // never one of ours
	require.NoError(t, os.Chtimes(foreign, old, old))
	folder("something-else", "owner")
	link := filepath.Join(tmp, "oversell-link")
	require.NoError(t, os.Symlink(foreign, link))
	orphan := folder("oversell-orphan", "owner.new")
	require.NoError(t, os.Chtimes(orphan, old, old))
	dead := folder("oversell-dead", "owner", "redis.log")
	held := folder("oversell-held", "owner")
	lock, err := os.Open(filepath.Join(held, "owner"))
	require.NoError(t, err)
	defer lock.Close()
	require.NoError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))

	removed, err := process.New().Clean(t.Context())
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{orphan, dead}, removed)
	entries, err := os.ReadDir(tmp)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	assert.ElementsMatch(t, []string{"oversell-young", "oversell-foreign", "something-else", "oversell-link", "oversell-held"}, names)
}
