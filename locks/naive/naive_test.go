package naive_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/locks/lockstest"
	"github.com/oversell/oversell/locks/naive"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestList(t *testing.T) { lockstest.List(t, naive.All()) }

func TestContractInABubble(t *testing.T) {
	contract(t, func(*testing.T) lockstest.World { return lockstest.Bubble })
}

func TestContractOnRedis(t *testing.T) { contract(t, lockstest.Redis) }

func contract(t *testing.T, world func(t *testing.T) lockstest.World) {
	t.Parallel()
	for _, k := range naive.All() {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			with := world(t)
			lockstest.Run(t, k, with)
			for _, shows := range defects(t, k) {
				shows(t, k, with)
			}
		})
	}
}

// defects are the ways in which k is broken. They have to stay: a naive lock
// that doesn't show its defect is no test for the harness.
func defects(t *testing.T, k locks.Kind) []func(*testing.T, locks.Kind, lockstest.World) {
	switch k.Name {
	case "setnx-expire-del":
		require.Empty(t, k.Withstands)
		return []func(*testing.T, locks.Kind, lockstest.World){lockstest.BlindRelease, lockstest.TwoStepAcquire}
	}
	require.Fail(t, "a naive lock without a known defect", k.Name)
	return nil
}
