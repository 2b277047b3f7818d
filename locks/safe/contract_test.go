package safe_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/oversell/oversell/locks/lockstest"
	"github.com/oversell/oversell/locks/safe"
	"github.com/oversell/oversell/result"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestList(t *testing.T) { lockstest.List(t, safe.All()) }

func TestContractInABubble(t *testing.T) {
	contract(t, func(*testing.T) lockstest.World { return lockstest.Bubble })
}

func TestContractOnRedis(t *testing.T) { contract(t, lockstest.Redis) }

// TestClaims spells out what every gate rests on.
func TestClaims(t *testing.T) {
	want := map[string][]result.Hazard{
		"lua-release":  {result.HolderCrash},
		"lua-watchdog": {result.HolderCrash, result.SlowCall},
		"fenced":       {result.HolderCrash, result.SlowCall, result.LostMaster},
	}
	for _, k := range safe.All() {
		require.ElementsMatch(t, want[k.Name], k.Withstands, k.Name)
		require.Equal(t, k.Survives(result.LostMaster), k.Fenced, "%s: only a fence withstands a lost master", k.Name)
		require.Equal(t, k.Survives(result.SlowCall), k.Renews, "%s: only renewal withstands a slow call", k.Name)
		for _, h := range result.Hazards() {
			expected := result.ExpectNotOK
			if slices.Contains(want[k.Name], h.Hazard) {
				expected = result.ExpectOK
			}
			require.Equal(t, expected, k.Expected(h.Hazard), "%s under %s", k.Name, h.Hazard)
		}
	}
	require.Len(t, safe.All(), len(want))
}

func contract(t *testing.T, world func(t *testing.T) lockstest.World) {
	t.Parallel()
	for _, k := range safe.All() {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			with := world(t)
			lockstest.Run(t, k, with)
			lockstest.OwnerChecked(t, k, with)
		})
	}
}
