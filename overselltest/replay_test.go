package overselltest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/overselltest"
)

// Tests that must fail are run by others, in a process of their own.
const asChild = "OVERSELLTEST_CHILD"

func child(t *testing.T) {
	t.Helper()
	if os.Getenv(asChild) == "" {
		t.Skip("another test runs it")
	}
}

// runChild runs a test in dir, and returns what it printed.
func runChild(t *testing.T, dir, name string) (output string, passed bool) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+name+"$", "-test.v")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), asChild+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		require.IsType(t, &exec.ExitError{}, err)
	}
	return string(out), err == nil
}

const left = "testdata/oversell/TestChildSlowCall-slow-call-oversold.json"

func TestChildSlowCall(t *testing.T) {
	child(t)
	overselltest.Explore(t, overselltest.Func(Lock))
}

func TestChildSlowCallLeavesNothing(t *testing.T) {
	child(t)
	overselltest.Explore(t, overselltest.Func(Lock), overselltest.Dir(""))
}

func TestChildReplay(t *testing.T) {
	child(t)
	overselltest.Replay(t, overselltest.Func(Lock), left, overselltest.OnServer())
}

func TestChildRepaired(t *testing.T) {
	child(t)
	overselltest.Replay(t, overselltest.Func(Lock), left, overselltest.OnServer(), overselltest.Fenced())
}

func TestChildNoSchedule(t *testing.T) {
	child(t)
	overselltest.Replay(t, overselltest.Func(Lock), "nowhere.json")
}

func TestChildNoSuchHazard(t *testing.T) {
	child(t)
	overselltest.Explore(t, overselltest.Func(Lock), overselltest.Hazards("rain"))
}

// A schedule that breaks the lock is left in a file, from which it is played again, in a
// simulation and on a real server, until the lock has been repaired.
func TestReplay(t *testing.T) {
	dir := t.TempDir()
	out, passed := runChild(t, dir, "TestChildSlowCall")
	require.False(t, passed)
	assert.Contains(t, out, "TestChildSlowCall: oversold in 256 of 306 schedules; the shortest has 10 events:")
	assert.Contains(t, out, "Oversold: 2 orders for a stock of 1.")
	assert.Contains(t, out, `overselltest.Replay(t, lock, "`+left+`") plays it again`)
	require.FileExists(t, filepath.Join(dir, left))

	out, passed = runChild(t, dir, "TestChildReplay")
	require.False(t, passed)
	assert.Contains(t, out, "oversold in the schedule of "+left)
	real := "confirmed on "
	if _, err := exec.LookPath("redis-server"); err != nil {
		real = "there is no redis-server on PATH"
	}
	assert.Contains(t, out, real)

	out, passed = runChild(t, dir, "TestChildRepaired")
	require.True(t, passed, out)
	assert.Contains(t, out, "isn't broken by the schedule in "+left+" any more")
	assert.NotContains(t, out, "confirmed on ")
}

func TestReplayOfNothing(t *testing.T) {
	out, passed := runChild(t, t.TempDir(), "TestChildNoSchedule")
	require.False(t, passed)
	assert.Contains(t, out, "nowhere.json: no such file")
}

func TestExploreUnderNoSuchHazard(t *testing.T) {
	out, passed := runChild(t, t.TempDir(), "TestChildNoSuchHazard")
	require.False(t, passed)
	assert.Contains(t, out, `no hazard is called "rain"; the hazards are slow-call, `)
}

func TestNothingIsLeft(t *testing.T) {
	dir := t.TempDir()
	out, passed := runChild(t, dir, "TestChildSlowCallLeavesNothing")
	require.False(t, passed)
	assert.NotContains(t, out, "The schedule is left")
	assert.NoDirExists(t, filepath.Join(dir, "testdata"))
}
