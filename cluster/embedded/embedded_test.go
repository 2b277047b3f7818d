package embedded_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/clustertest"
	"github.com/oversell/oversell/cluster/embedded"
	"github.com/oversell/oversell/internal/hint"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	clustertest.Run(t, clustertest.Config{Backend: embedded.New(), Parallel: true})
}

func TestItSaysThatItIsSimulated(t *testing.T) {
	c, err := embedded.New().Start(t.Context(), cluster.Spec{Shape: cluster.Single})
	require.NoError(t, err)
	defer func() { assert.NoError(t, c.Close(t.Context())) }()
	assert.True(t, c.Simulated)
	// A test's binary doesn't know the versions of its modules.
	assert.Regexp(t, `^miniredis( \d+\.\d+\.\d+)? \(simulated\)$`, c.Server)
}

func TestSentinelsAreRefusedWithAHint(t *testing.T) {
	err := embedded.New().Supports(cluster.Sentinel)
	require.Error(t, err)
	assert.Contains(t, hint.Of(err), "--backend")
}
