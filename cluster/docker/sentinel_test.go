package docker

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
)

// TestFailover is the whole life of a lock that a failover loses.
func TestFailover(t *testing.T) {
	t.Parallel()
	c := start(t, backend(t), spec(t, cluster.Sentinel))
	old := c.Node("master")
	replicas := []cluster.Node{c.Node("replica-1"), c.Node("replica-2")}

	do(t, old, "SET", "before", "1")
	assert.EqualValues(t, 2, do(t, old, "WAIT", 2, 5000), "both replicas follow")
	named, err := redisnode.CurrentMaster(within(t), c)
	require.NoError(t, err)
	require.Equal(t, old.Name(), named.Name())

	how, err := old.(cluster.Isolator).CutPeers(within(t))
	require.NoError(t, err)
	assert.Contains(t, how, "0 of 2 replicas attached")
	do(t, old, "SET", "lock", "A")
	assert.EqualValues(t, 0, do(t, old, "WAIT", 1, 50), "nobody hears of it")
	for _, s := range ofRole(c, cluster.RoleSentinel) {
		w, err := redisnode.AskSentinel(within(t), s)
		require.NoError(t, err)
		assert.Equal(t, "master", w.Flags, "%s is still connected to the master", s.Name())
	}

	how, err = old.(cluster.Killer).Kill(within(t))
	require.NoError(t, err)
	assert.Equal(t, "container exited, code 137", how)
	fresh, err := redisnode.AwaitPromotion(within(t), c, old)
	require.NoError(t, err)
	assert.Equal(t, "1", do(t, fresh, "GET", "before"))
	_, err = redisnode.Do(within(t), fresh, "GET", "lock")
	require.ErrorIs(t, err, redis.Nil, "the lock is lost")

	require.NoError(t, old.(cluster.Isolator).HealPeers(within(t)))
	require.NoError(t, old.(cluster.Killer).Restart(within(t)))
	require.NoError(t, redisnode.AwaitDemotion(within(t), old))
	require.NoError(t, redisnode.AwaitLink(within(t), []cluster.Node{old}, true))
	for _, r := range append(replicas, old) {
		if r != fresh {
			info, err := redisnode.GetInfo(within(t), r, "replication")
			require.NoError(t, err)
			assert.Equal(t, "slave", info["role"], r.Name())
		}
	}

	_, err = old.(cluster.Isolator).CutPeers(within(t))
	require.Error(t, err, "replication no longer runs where it can be cut")
}

func TestCutAndHeal(t *testing.T) {
	t.Parallel()
	c := start(t, backend(t), spec(t, cluster.Sentinel))
	m := c.Node("master")
	i := m.(cluster.Isolator)
	addr := m.Addr()

	_, err := i.CutPeers(within(t))
	require.NoError(t, err)
	assert.Equal(t, addr, m.Addr(), "clients stay where they are")
	do(t, m, "SET", "k", "unheard")
	for _, r := range ofRole(c, cluster.RoleReplica) {
		_, err := redisnode.Do(within(t), r, "GET", "k")
		require.ErrorIs(t, err, redis.Nil, r.Name())
	}

	require.NoError(t, i.HealPeers(within(t)))
	require.NoError(t, i.HealPeers(within(t)), "healing what is whole")
	assert.EqualValues(t, 2, do(t, m, "WAIT", 2, 5000))
	for _, r := range ofRole(c, cluster.RoleReplica) {
		assert.Equal(t, "unheard", do(t, r, "GET", "k"), r.Name())
	}
	named, err := redisnode.CurrentMaster(within(t), c)
	require.NoError(t, err)
	assert.Equal(t, m.Name(), named.Name(), "a cut alone is no reason for a failover")
}

func ofRole(c *cluster.Cluster, r cluster.Role) []cluster.Node {
	var list []cluster.Node
	for _, n := range c.Nodes {
		if n.Role() == r {
			list = append(list, n)
		}
	}
	return list
}
