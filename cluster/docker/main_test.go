package docker

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/clustertest"
	"github.com/oversell/oversell/cluster/redisnode"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shared is one backend for all tests, as a program has one.
var shared = New()

// backend returns the shared backend, or skips the test where it can't be used;
// see clustertest.RequireEnv.
func backend(t *testing.T) *Backend {
	t.Helper()
	clustertest.Require(t, shared, "")
	return shared
}

var runs atomic.Int64

// spec is a cluster of a run that no one else has.
func spec(t *testing.T, shape cluster.Shape) cluster.Spec {
	run := fmt.Sprintf("test-%d-%d-%x", os.Getpid(), runs.Add(1), time.Now().UnixNano()&0xffffff)
	return cluster.Spec{Run: run, Name: "c", Shape: shape, LogDir: t.TempDir()}
}

// start starts a cluster, and after the test closes it and looks for leftovers.
func start(t *testing.T, b *Backend, s cluster.Spec) *cluster.Cluster {
	t.Helper()
	c, err := b.Start(t.Context(), s)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, c.Close(context.Background()))
		requireNothingLeft(t, b, s.Run)
	})
	return c
}

func requireNothingLeft(t testing.TB, b *Backend, run string) {
	t.Helper()
	require.Empty(t, names(itemsOf(t, b, run)))
}

func itemsOf(t testing.TB, b *Backend, run string) []item {
	t.Helper()
	e, err := b.connect(context.Background())
	require.NoError(t, err)
	defer e.idle()
	items, err := e.list(context.Background(), labelRun+"="+run)
	require.NoError(t, err)
	return items
}

func TestContract(t *testing.T) {
	clustertest.Run(t, clustertest.Config{
		Backend:   shared,
		Leftovers: func(t testing.TB, run string) []string { return names(itemsOf(t, shared, run)) },
		Parallel:  true,
	})
}

// within bounds a step that has to happen, generously.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// do asks a node and requires an answer.
func do(t *testing.T, n cluster.Node, args ...any) any {
	t.Helper()
	v, err := redisnode.Do(within(t), n, args...)
	require.NoError(t, err)
	return v
}
