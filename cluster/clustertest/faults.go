package clustertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
)

// quiet is how long something is watched that must not happen.
const quiet = 200 * time.Millisecond

func killAndRestart(t *testing.T, h *harness) {
	c := h.start(t, h.spec(t, cluster.Single))
	n := c.Nodes[0]
	k, ok := n.(cluster.Killer)
	if !ok {
		assert.False(t, h.Backend.Real(), "a real server can be killed")
		t.Skip("its servers can't be killed")
	}
	require.Error(t, k.Restart(deadline(t)), "what runs can't be restarted")
	announced := n.Announced()
	for range 3 {
		do(t, n, "SET", "k", "v")
		how, err := k.Kill(deadline(t))
		require.NoError(t, err)
		assert.Regexp(t, `signal|137|killed`, how)
		require.Error(t, redisnode.Ping(deadline(t), n))
		_, err = k.Kill(deadline(t))
		require.Error(t, err, "what is dead can't be killed")

		require.NoError(t, k.Restart(deadline(t)))
		require.NoError(t, redisnode.Ping(deadline(t), n))
		assert.Equal(t, announced, n.Announced())
		assert.Empty(t, valueOf(t, n, "k"), "without persistence nothing survives")
	}
	lines, err := n.Logs(deadline(t), 1000)
	require.NoError(t, err)
	assert.NotEmpty(t, lines)
}

func pauseAndResume(t *testing.T, h *harness) {
	c := h.start(t, h.spec(t, cluster.Single))
	n := c.Nodes[0]
	p, ok := n.(cluster.Pauser)
	if !ok {
		t.Skip("its servers can't be paused")
	}
	for range 3 {
		require.NoError(t, p.Pause(deadline(t)))
		conn, err := n.Dial(deadline(t))
		require.NoError(t, err)
		_, err = conn.Write([]byte("PING\r\n"))
		require.NoError(t, err)
		buf := make([]byte, 64)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(quiet)))
		_, err = conn.Read(buf)
		require.Error(t, err, "a paused server answered")

		require.NoError(t, p.Resume(deadline(t)))
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(Timeout)))
		size, err := conn.Read(buf)
		require.NoError(t, err)
		assert.Equal(t, "+PONG\r\n", string(buf[:size]))
		require.NoError(t, conn.Close())
	}
	require.NoError(t, p.Pause(deadline(t)), "a paused server can be closed")
}

func sentinels(t *testing.T, h *harness) {
	c := h.start(t, h.spec(t, cluster.Sentinel))
	var names []string
	for _, n := range c.Nodes {
		names = append(names, n.Name())
		var want string
		switch n.Role() {
		case cluster.RoleMaster:
			want = "master"
		case cluster.RoleReplica:
			want = "slave"
		default:
			want = "sentinel"
		}
		role, err := redisnode.Role(deadline(t), n)
		require.NoError(t, err)
		assert.Equal(t, want, role, n.Name())
	}
	assert.Equal(t, []string{"master", "replica-1", "replica-2", "sentinel-1", "sentinel-2", "sentinel-3"}, names)
	h.checkNodes(t, c)
	master, err := redisnode.CurrentMaster(deadline(t), c)
	require.NoError(t, err)
	assert.Same(t, c.Node("master"), master)

	do(t, master, "SET", "k", "v")
	awaitValue(t, c.Node("replica-1"), "k", "v")
	awaitValue(t, c.Node("replica-2"), "k", "v")
}

// awaitValue returns once a node holds the value.
func awaitValue(t testing.TB, n cluster.Node, key, want string) {
	t.Helper()
	require.NoError(t, redisnode.Until(deadline(t), func(ctx context.Context) error {
		got, _, err := redisnode.KeyState(ctx, n, key)
		if err == nil && got != want {
			return fmt.Errorf("%s holds %q", n.Name(), got)
		}
		return err
	}))
}

func cutAndHeal(t *testing.T, h *harness) {
	c := h.start(t, h.spec(t, cluster.Sentinel))
	master := c.Node("master")
	iso, ok := master.(cluster.Isolator)
	require.True(t, ok, "the master of the sentinel shape can be cut off")
	for _, n := range c.Nodes[1:] {
		_, ok := n.(cluster.Isolator)
		assert.False(t, ok, "%s has no replicas", n.Name())
	}
	do(t, master, "SET", "before", "v")
	awaitValue(t, c.Node("replica-1"), "before", "v")
	awaitValue(t, c.Node("replica-2"), "before", "v")

	how, err := iso.CutPeers(deadline(t))
	require.NoError(t, err)
	assert.Contains(t, how, "down")
	do(t, master, "SET", "after", "v") // clients stay connected
	time.Sleep(6 * quiet)              // replicas try to come back once a second; the links must stay down
	for _, name := range []string{"replica-1", "replica-2"} {
		assert.Empty(t, valueOf(t, c.Node(name), "after"), name)
		assert.Equal(t, "v", valueOf(t, c.Node(name), "before"), name)
		info, err := redisnode.GetInfo(deadline(t), c.Node(name), "replication")
		require.NoError(t, err)
		assert.Equal(t, "down", info["master_link_status"], name)
	}
	for _, n := range c.Nodes {
		if n.Role() == cluster.RoleSentinel {
			w, err := redisnode.AskSentinel(deadline(t), n)
			require.NoError(t, err)
			assert.Equal(t, "master", w.Flags, "sentinels stay connected")
			assert.Equal(t, master.Announced(), w.Master)
		}
	}

	require.NoError(t, iso.HealPeers(deadline(t)))
	awaitValue(t, c.Node("replica-1"), "after", "v")
	awaitValue(t, c.Node("replica-2"), "after", "v")
	require.NoError(t, redisnode.AwaitSentinels(deadline(t), c))
}

// failoverLosesKey plays the whole fault of the third scenario.
func failoverLosesKey(t *testing.T, h *harness) {
	c := h.start(t, h.spec(t, cluster.Sentinel))
	old := c.Node("master")
	_, err := old.(cluster.Isolator).CutPeers(deadline(t))
	require.NoError(t, err)
	assert.Equal(t, "OK", do(t, old, "SET", "lock", "A", "NX", "PX", "60000"))

	began := time.Now()
	_, err = old.(cluster.Killer).Kill(deadline(t))
	require.NoError(t, err)
	fresh, err := redisnode.AwaitPromotion(deadline(t), c, old)
	require.NoError(t, err)
	t.Logf("%s promoted after %s", fresh.Name(), time.Since(began).Round(time.Millisecond))
	assert.Contains(t, []string{"replica-1", "replica-2"}, fresh.Name())
	current, err := redisnode.CurrentMaster(deadline(t), c)
	require.NoError(t, err)
	assert.Same(t, fresh, current)
	_, pttl, err := redisnode.KeyState(deadline(t), fresh, "lock")
	require.NoError(t, err)
	assert.Equal(t, int64(-2), pttl, "the lock must be lost")
	assert.Equal(t, "OK", do(t, fresh, "SET", "lock", "B", "NX", "PX", "60000"))

	began = time.Now()
	require.NoError(t, old.(cluster.Killer).Restart(deadline(t)))
	require.NoError(t, redisnode.AwaitDemotion(deadline(t), old))
	t.Logf("%s demoted after %s", old.Name(), time.Since(began).Round(time.Millisecond))
	require.NoError(t, old.(cluster.Isolator).HealPeers(deadline(t)))
	awaitValue(t, old, "lock", "B")
	require.NoError(t, redisnode.AwaitSentinels(deadline(t), c))
}
