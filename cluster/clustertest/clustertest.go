// Package clustertest is the contract that every backend keeps, as a test.
package clustertest

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
	"github.com/oversell/oversell/internal/hint"
)

// RequireEnv names the environment variable that lists, separated by commas,
// the backends whose tests must run: where one of them can't be used, its tests
// fail instead of being skipped.
const RequireEnv = "OVERSELL_REQUIRE"

// Timeout bounds every wait of the contract. It is no expectation: it only
// keeps a broken backend from hanging.
const Timeout = 2 * time.Minute

// Config is what the contract must know of a backend.
type Config struct {
	Backend cluster.Backend
	Version string // to start; "" for the backend's default
	// Leftovers lists what is left on this machine of the run with that id:
	// processes, containers, networks, folders. Nil when there can't be any.
	Leftovers func(t testing.TB, run string) []string
	// Parallel lets the contract's tests run at the same time.
	Parallel bool
}

// Run checks that a backend keeps its contract.
func Run(t *testing.T, cfg Config) {
	Require(t, cfg.Backend, cfg.Version)
	h := &harness{Config: cfg}
	for _, c := range []struct {
		name string
		test func(*testing.T, *harness)
	}{
		{"probe says what would be used", probe},
		{"a single server answers", single},
		{"five independent masters", quorum},
		{"a shape that isn't supported says why", unsupported},
		{"an unknown version starts nothing", unknownVersion},
		{"kill and restart", killAndRestart},
		{"pause and resume", pauseAndResume},
		{"sentinels know their cluster", sentinels},
		{"replication can be cut and healed", cutAndHeal},
		{"a failover after a cut loses the key", failoverLosesKey},
		{"logs are kept", logsAreKept},
		{"closing leaves nothing", closing},
		{"ending the context during the start leaves nothing", cancelled},
		{"two clusters at once", twoAtOnce},
	} {
		t.Run(c.name, func(t *testing.T) {
			if cfg.Parallel {
				t.Parallel()
			}
			c.test(t, h)
		})
	}
}

// Require skips the test when the backend can't be used here, with the reason,
// or fails it when RequireEnv names the backend.
func Require(t testing.TB, b cluster.Backend, version string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	defer cancel()
	_, err := b.Probe(ctx, version)
	if err == nil {
		return
	}
	names := strings.Split(os.Getenv(RequireEnv), ",")
	if slices.Contains(names, b.Name()) {
		t.Fatalf("%s requires the %s backend: %v (%s)", RequireEnv, b.Name(), err, hint.Of(err))
	}
	t.Skipf("the %s backend can't be used here: %v (%s)", b.Name(), err, hint.Of(err))
}

// harness starts clusters for the contract's tests.
type harness struct{ Config }

// deadline is a context that ends with the test, or after Timeout.
func deadline(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	t.Cleanup(cancel)
	return ctx
}

// supports skips the test when the backend doesn't have the shape.
func (h *harness) supports(t testing.TB, s cluster.Shape) {
	t.Helper()
	if err := h.Backend.Supports(s); err != nil {
		t.Skipf("not supported: %v", err)
	}
}

// spec describes a cluster of a run of its own.
func (h *harness) spec(t testing.TB, s cluster.Shape) cluster.Spec {
	return cluster.Spec{Run: runID(t), Name: "contract", Shape: s, Version: h.Version}
}

// start starts a cluster that is closed with the test, and then leaves nothing.
func (h *harness) start(t testing.TB, spec cluster.Spec) *cluster.Cluster {
	t.Helper()
	h.supports(t, spec.Shape)
	c, err := h.Backend.Start(deadline(t), spec)
	t.Cleanup(func() {
		if t.Failed() {
			showLogs(t, c)
		}
		assert.NoError(t, c.Close(context.Background()), "close the cluster")
		h.assertNothingLeft(t, spec.Run)
	})
	require.NoError(t, err)
	require.NotNil(t, c)
	return c
}

// showLogs prints what the servers of a failed test printed last.
func showLogs(t testing.TB, c *cluster.Cluster) {
	if c == nil {
		return
	}
	for _, n := range c.Nodes {
		lines, err := n.Logs(deadline(t), 60)
		t.Logf("log of %s at %s (%v):\n%s", n.Name(), n.Announced(), err, strings.Join(lines, "\n"))
	}
}

func (h *harness) assertNothingLeft(t testing.TB, run string) {
	t.Helper()
	if h.Leftovers != nil {
		assert.Empty(t, h.Leftovers(t, run), "left behind")
	}
}

// do sends a command that must be answered.
func do(t testing.TB, n cluster.Node, args ...any) any {
	t.Helper()
	reply, err := redisnode.Do(deadline(t), n, args...)
	require.NoError(t, err)
	return reply
}

// valueOf returns what a node holds under a key, "" for nothing.
func valueOf(t testing.TB, n cluster.Node, key string) string {
	t.Helper()
	value, _, err := redisnode.KeyState(deadline(t), n, key)
	require.NoError(t, err)
	return value
}
