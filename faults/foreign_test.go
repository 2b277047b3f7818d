package faults_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/faults"
)

// What would hit other people's keys isn't played on servers that may have some.
func TestServersOfOthersAreSpared(t *testing.T) {
	t.Parallel()
	target := faults.Target{Real: true, Cluster: &cluster.Cluster{Backend: "remote", Shape: cluster.Single, Foreign: true}}
	for _, f := range []faults.Fault{faults.Flush{}, faults.FlushScripts{}, faults.Evict{}, faults.FillMemory{}} {
		require.ErrorContains(t, f.Available(target), "they aren't oversell's", f.Name())
	}
	_, _, err := faults.Flush{}.Inject(context.Background(), target)
	require.ErrorContains(t, err, "they aren't oversell's")
	target.Cluster.Foreign = false
	require.NoError(t, faults.Flush{}.Available(target))
}
