package docker

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
)

// What the contract leaves open: the order in which a cut and a kill are healed,
// and a second cut where there is nothing left to cut.
func TestHealBeforeRestart(t *testing.T) {
	t.Parallel()
	c := start(t, backend(t), spec(t, cluster.Sentinel))
	old := c.Node("master")
	iso, mortal := old.(cluster.Isolator), old.(cluster.Killer)

	how, err := iso.CutPeers(within(t))
	require.NoError(t, err)
	assert.Contains(t, how, "0 of 2 replicas attached")
	assert.EqualValues(t, 0, do(t, old, "WAIT", 1, 50), "a write reaches nobody")
	_, err = iso.CutPeers(within(t))
	require.Error(t, err, "what is cut can't be cut")

	_, err = mortal.Kill(within(t))
	require.NoError(t, err)
	_, err = redisnode.AwaitPromotion(within(t), c, old)
	require.NoError(t, err)
	require.NoError(t, iso.HealPeers(within(t)), "while it is down")
	require.NoError(t, mortal.Restart(within(t)))
	require.NoError(t, iso.HealPeers(within(t)), "and once more")
	require.NoError(t, redisnode.AwaitDemotion(within(t), old))
	require.NoError(t, redisnode.AwaitLink(within(t), []cluster.Node{old}, true))

	_, err = iso.CutPeers(within(t))
	require.Error(t, err, "replication no longer runs where it can be cut")

	require.NoError(t, c.OnRenew(within(t)))
	now, err := redisnode.CurrentMaster(within(t), c)
	require.NoError(t, err)
	assert.Equal(t, "master", now.Name(), "as in the beginning")
	how, err = iso.CutPeers(within(t))
	require.NoError(t, err)
	assert.Contains(t, how, "0 of 2 replicas attached")
	require.NoError(t, iso.HealPeers(within(t)))
}
