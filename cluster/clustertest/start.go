package clustertest

import (
	"context"
	"crypto/rand"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
)

// runID is unlike that of any other run, also of one that goes on elsewhere.
func runID(testing.TB) string { return "t" + strings.ToLower(rand.Text()[:10]) }

func probe(t *testing.T, h *harness) {
	what, err := h.Backend.Probe(deadline(t), h.Version)
	require.NoError(t, err)
	assert.NotEmpty(t, what)
	assert.NotContains(t, what, "\n", "a few words")
}

func single(t *testing.T, h *harness) {
	c := h.start(t, h.spec(t, cluster.Single))
	assert.Equal(t, h.Backend.Name(), c.Backend)
	assert.Equal(t, cluster.Single, c.Shape)
	assert.Equal(t, !h.Backend.Real(), c.Simulated)
	require.Len(t, c.Nodes, 1)
	n := c.Nodes[0]
	assert.Equal(t, "redis", n.Name())
	assert.Equal(t, cluster.RoleMaster, n.Role())
	assert.Same(t, n, c.Node("redis"))
	assert.Nil(t, c.Node("nobody"))
	h.checkNodes(t, c)

	assert.Equal(t, "OK", do(t, n, "SET", "k", "v", "PX", "60000"))
	value, pttl, err := redisnode.KeyState(deadline(t), n, "k")
	require.NoError(t, err)
	assert.Equal(t, "v", value)
	assert.Greater(t, pttl, int64(0))
	do(t, n, "PEXPIRE", "k", "1")
	require.NoError(t, redisnode.Until(deadline(t), func(ctx context.Context) error {
		_, pttl, err := redisnode.KeyState(ctx, n, "k")
		if err == nil && pttl != -2 {
			return os.ErrExist
		}
		return err
	}), "keys expire by themselves")
	master, err := redisnode.CurrentMaster(deadline(t), c)
	require.NoError(t, err)
	assert.Same(t, n, master)
	info, err := redisnode.ServerInfo(deadline(t), n)
	require.NoError(t, err)
	assert.Greater(t, info["total_commands_processed"], int64(0))
}

// checkNodes checks what holds for every node of every cluster.
func (h *harness) checkNodes(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	names, announced := map[string]bool{}, map[string]bool{}
	for _, n := range c.Nodes {
		assert.False(t, names[n.Name()], "the name %s is used twice", n.Name())
		names[n.Name()] = true
		assert.False(t, announced[n.Announced()], "%s is announced twice", n.Announced())
		announced[n.Announced()] = true
		_, _, err := net.SplitHostPort(n.Announced())
		require.NoError(t, err)
		require.NoError(t, redisnode.Ping(deadline(t), n))
		assert.Equal(t, c.Server, n.Version())
		h.checkAddr(t, n)
		if h.Backend.Real() {
			lines, err := n.Logs(deadline(t), 1000)
			require.NoError(t, err)
			assert.NotEmpty(t, lines, "the log of %s", n.Name())
			last, err := n.Logs(deadline(t), 1)
			require.NoError(t, err)
			assert.Len(t, last, 1)
			said, err := redisnode.Version(deadline(t), n)
			require.NoError(t, err)
			assert.Equal(t, said, n.Version())
		}
		_, err = n.Dial(ended())
		require.Error(t, err, "dialling ends with its context")
	}
}

// checkAddr checks that the address leads to the node, on this machine only.
func (h *harness) checkAddr(t *testing.T, n cluster.Node) {
	t.Helper()
	if !h.Backend.Real() {
		assert.Empty(t, n.Addr())
		return
	}
	host, _, err := net.SplitHostPort(n.Addr())
	require.NoError(t, err)
	ip := net.ParseIP(host)
	require.NotNil(t, ip, n.Addr())
	assert.True(t, ip.IsLoopback(), "%s is reachable from elsewhere", n.Addr())
	conn, err := net.DialTimeout("tcp", n.Addr(), Timeout)
	require.NoError(t, err)
	assert.NoError(t, conn.Close())
}

// ended is a context that has ended.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func quorum(t *testing.T, h *harness) {
	c := h.start(t, h.spec(t, cluster.Quorum))
	require.Len(t, c.Nodes, 5)
	h.checkNodes(t, c)
	for _, n := range c.Nodes {
		assert.Equal(t, cluster.RoleMaster, n.Role())
		assert.Empty(t, valueOf(t, n, "k"), "%s shares data with another master", n.Name())
		do(t, n, "SET", "k", n.Name())
	}
}

func unsupported(t *testing.T, h *harness) {
	for _, s := range []cluster.Shape{cluster.Single, cluster.Sentinel, cluster.Quorum, "no-such-shape"} {
		err := h.Backend.Supports(s)
		if err == nil {
			assert.NotEqual(t, cluster.Shape("no-such-shape"), s)
			continue
		}
		spec := h.spec(t, s)
		c, startErr := h.Backend.Start(deadline(t), spec)
		require.Error(t, startErr)
		assert.Equal(t, err.Error(), startErr.Error())
		require.NoError(t, c.Close(deadline(t)))
		h.assertNothingLeft(t, spec.Run)
	}
}

func unknownVersion(t *testing.T, h *harness) {
	if !h.Backend.Real() {
		t.Skip("a simulated backend has only one version")
	}
	spec := h.spec(t, cluster.Single)
	spec.Version = "0.0"
	_, err := h.Backend.Probe(deadline(t), spec.Version)
	require.ErrorContains(t, err, "0.0")
	c, err := h.Backend.Start(deadline(t), spec)
	require.ErrorContains(t, err, "0.0")
	require.NoError(t, c.Close(deadline(t)))
	h.assertNothingLeft(t, spec.Run)
}

func logsAreKept(t *testing.T, h *harness) {
	if !h.Backend.Real() {
		t.Skip("a simulated server prints nothing")
	}
	spec := h.spec(t, cluster.Single)
	spec.LogDir = filepath.Join(t.TempDir(), "servers") // not made yet
	c := h.start(t, spec)
	lines, err := c.Nodes[0].Logs(deadline(t), 3)
	require.NoError(t, err)
	require.NotEmpty(t, lines)
	require.NoError(t, c.Close(deadline(t)))
	kept, err := os.ReadFile(filepath.Join(spec.LogDir, "redis.log"))
	require.NoError(t, err)
	for _, l := range lines {
		assert.Contains(t, string(kept), l)
	}
}

func closing(t *testing.T, h *harness) {
	for _, s := range []cluster.Shape{cluster.Single, cluster.Sentinel} {
		if h.Backend.Supports(s) != nil {
			continue
		}
		spec := h.spec(t, s)
		c := h.start(t, spec)
		if h.Leftovers != nil {
			assert.NotEmpty(t, h.Leftovers(t, spec.Run), "what runs now must be seen, or the test proves nothing")
		}
		require.NoError(t, c.Close(ended()), "closing works in a context that has ended")
		h.assertNothingLeft(t, spec.Run)
		for _, n := range c.Nodes {
			require.Error(t, redisnode.Ping(deadline(t), n), "%s still answers", n.Name())
			if k, ok := n.(cluster.Killer); ok {
				require.Error(t, k.Restart(deadline(t)), "%s came back", n.Name())
			}
		}
		require.NoError(t, c.Close(deadline(t)), "closing twice")
		h.assertNothingLeft(t, spec.Run)
	}
}

// cancelled ends the context at several moments of a start: one before it, and
// others spread over the time that a start takes here.
func cancelled(t *testing.T, h *harness) {
	shape := cluster.Sentinel
	if h.Backend.Supports(shape) != nil {
		shape = cluster.Single
	}
	began := time.Now()
	require.NoError(t, h.start(t, h.spec(t, shape)).Close(deadline(t)))
	whole := time.Since(began)
	const moments = 3
	for i := range moments {
		spec := h.spec(t, shape)
		ctx, cancel := context.WithTimeout(context.Background(), whole*time.Duration(i)/moments)
		c, err := h.Backend.Start(ctx, spec)
		cancel()
		if err != nil {
			assert.ErrorIs(t, err, context.DeadlineExceeded)
		}
		require.NoError(t, c.Close(deadline(t)))
		h.assertNothingLeft(t, spec.Run)
	}
	_, err := h.Backend.Start(ended(), h.spec(t, shape))
	require.ErrorIs(t, err, context.Canceled)
}

func twoAtOnce(t *testing.T, h *harness) {
	specs := [2]cluster.Spec{h.spec(t, cluster.Single), h.spec(t, cluster.Single)}
	specs[1].Run, specs[1].Name = specs[0].Run, "other" // two clusters of one run
	var clusters [2]*cluster.Cluster
	var errs [2]error
	done := make(chan struct{})
	go func() {
		defer close(done)
		clusters[0], errs[0] = h.Backend.Start(deadline(t), specs[0])
	}()
	clusters[1], errs[1] = h.Backend.Start(deadline(t), specs[1])
	<-done
	for i, c := range clusters {
		defer func() { assert.NoError(t, c.Close(context.Background())) }()
		require.NoError(t, errs[i])
	}
	a, b := clusters[0].Nodes[0], clusters[1].Nodes[0]
	if h.Backend.Real() {
		assert.NotEqual(t, a.Addr(), b.Addr())
	}
	do(t, a, "SET", "k", "a")
	assert.Empty(t, valueOf(t, b, "k"))
	require.NoError(t, clusters[0].Close(deadline(t)))
	require.NoError(t, redisnode.Ping(deadline(t), b), "closing one leaves the other alone")
}
