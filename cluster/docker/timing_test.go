package docker

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
)

func TestTiming(t *testing.T) {
	b := backend(t)
	t0 := time.Now()
	lap := func(s string) { t.Logf("%-12s %d ms", s, time.Since(t0).Milliseconds()); t0 = time.Now() }
	s := spec(t, cluster.Single)
	c, err := b.Start(t.Context(), s)
	require.NoError(t, err)
	lap("single")
	require.NoError(t, c.Close(t.Context()))
	lap("close")
	s = spec(t, cluster.Sentinel)
	s.Version = os.Getenv("V")
	c, err = b.Start(t.Context(), s)
	require.NoError(t, err)
	lap("sentinel")
	defer func() {
		lap("-")
		require.NoError(t, c.Close(t.Context()))
		lap("close")
	}()
	old := c.Node("master")
	_, err = old.(cluster.Isolator).CutPeers(within(t))
	require.NoError(t, err)
	lap("cut")
	if os.Getenv("HEAL") != "" {
		require.NoError(t, old.(cluster.Isolator).HealPeers(within(t)))
		lap("heal")
		return
	}
	_, err = old.(cluster.Killer).Kill(within(t))
	require.NoError(t, err)
	lap("kill")
	_, err = redisnode.AwaitPromotion(within(t), c, old)
	require.NoError(t, err)
	lap("promotion")
	require.NoError(t, old.(cluster.Isolator).HealPeers(within(t)))
	lap("heal")
	require.NoError(t, old.(cluster.Killer).Restart(within(t)))
	lap("restart")
	require.NoError(t, redisnode.AwaitDemotion(within(t), old))
	lap("demotion")
	require.NoError(t, redisnode.AwaitLink(within(t), []cluster.Node{old}, true))
	lap("link")
}
