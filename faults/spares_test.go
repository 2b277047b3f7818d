package faults_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/faults"
)

// Whoever adds a fault says what it does to servers: what isn't listed as
// sparing them costs a start, what is listed wrongly spoils the next run.
func TestWhatSparesServers(t *testing.T) {
	harms := map[string]bool{
		"cut-replication": true, "kill-master": true, "failover": true,
	}
	for _, f := range faults.All() {
		require.Equal(t, !harms[f.Name()], faults.Spares(f), f.Name())
	}
}
