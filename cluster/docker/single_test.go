package docker

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
)

// What the contract can't know: the port that a restarted container gets is
// another one, and only loopback may be bound.
func TestRestartOnAnotherPort(t *testing.T) {
	t.Parallel()
	c := start(t, backend(t), spec(t, cluster.Single))
	n := c.Node("redis")
	k := n.(cluster.Killer)
	announced, before := n.Announced(), n.Addr()
	do(t, n, "SET", "k", "v")

	how, err := k.Kill(within(t))
	require.NoError(t, err)
	assert.Equal(t, "container exited, code 137", how)
	_, err = n.Dial(t.Context())
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	_, err = k.Kill(t.Context())
	require.ErrorContains(t, err, "isn't running (exited, code 137)")

	// Someone takes the old port, so that the restarted container gets another.
	l, err := net.Listen("tcp", before)
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	require.NoError(t, k.Restart(within(t)))
	assert.NotEqual(t, before, n.Addr())
	assert.Equal(t, announced, n.Announced())
	_, err = redisnode.Do(t.Context(), n, "GET", "k")
	require.ErrorIs(t, err, redis.Nil, "a server without persistence returns empty")

	i, err := n.(*node).inspect(t.Context())
	require.NoError(t, err)
	for _, nw := range i.NetworkSettings.Networks {
		assert.Equal(t, announced, net.JoinHostPort(nw.IPAddress.String(), "6379"), "the container's own address")
	}
	for port, bindings := range i.NetworkSettings.Ports {
		for _, bound := range bindings {
			assert.Equal(t, loopback, bound.HostIP.String(), "port %s", port)
		}
	}
}

func TestPausedServerCanBeKilled(t *testing.T) {
	t.Parallel()
	c := start(t, backend(t), spec(t, cluster.Single))
	n := c.Node("redis")
	require.NoError(t, n.(cluster.Pauser).Pause(within(t)))
	how, err := n.(cluster.Killer).Kill(within(t))
	require.NoError(t, err)
	assert.Equal(t, "container exited, code 137", how)
	require.NoError(t, n.(cluster.Killer).Restart(within(t)))
	require.NoError(t, redisnode.Ping(within(t), n))
}

func TestVersions(t *testing.T) {
	t.Parallel()
	b := backend(t)
	for _, v := range cluster.Versions() {
		t.Run(v, func(t *testing.T) {
			e, err := b.connect(t.Context())
			require.NoError(t, err)
			image, err := e.localImage(t.Context(), v)
			require.NoError(t, err)
			if image == "" {
				t.Skipf("no local image of %s: `scripts/images.sh %s` makes one", v, v)
			}
			s := spec(t, cluster.Single)
			s.Version = v
			c := start(t, b, s)
			want := "Redis " + v + "."
			if number, ok := strings.CutPrefix(v, "valkey-"); ok {
				want = "Valkey " + number + "."
			}
			assert.True(t, strings.HasPrefix(c.Server, want), "%s runs %s", image, c.Server)
		})
	}
}

// The lock's cluster and the inventory's are of one run, and end one after the other.
func TestClustersOfOneRun(t *testing.T) {
	t.Parallel()
	b := backend(t)
	one := spec(t, cluster.Single)
	two := one
	two.Name, two.LogDir = "inventory", t.TempDir()
	c1, err := b.Start(t.Context(), one)
	require.NoError(t, err)
	c2, err := b.Start(t.Context(), two)
	require.NoError(t, err)
	testShortcut(t, c1.Node("redis").(*node), c2.Node("redis").(*node))

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, c1.Close(ended), "closing is done also when ctx has ended")
	require.NoError(t, redisnode.Ping(t.Context(), c2.Nodes[0]), "the other cluster lives on")
	require.NoError(t, c2.Close(ended))
	requireNothingLeft(t, b, one.Run)
	require.NoError(t, c2.Close(t.Context()), "closing again")
	log, err := os.ReadFile(filepath.Join(two.LogDir, "redis.log"))
	require.NoError(t, err)
	assert.Contains(t, string(log), "Ready to accept connections")
}

// testShortcut: whoever answers at the shorter way must be the same server.
func testShortcut(t *testing.T, one, other *node) {
	published := nodeAt{one, one.Addr()}
	assert.True(t, sameServer(within(t), one, published))
	assert.False(t, sameServer(within(t), other, published))
	assert.False(t, sameServer(within(t), nodeAt{one, net.JoinHostPort(loopback, "1")}, published), "nobody answers there")
	assert.True(t, reachable(within(t), published))
	assert.False(t, reachable(within(t), nodeAt{one, net.JoinHostPort(loopback, "1")}))
	if runtime.GOOS == "linux" && remoteHost(one.launch.engine.endpoint) == "" {
		conn, err := one.Dial(t.Context())
		require.NoError(t, err)
		assert.Equal(t, one.Announced(), conn.RemoteAddr().String(), "an engine on this machine")
		require.NoError(t, conn.Close())
	}
}
