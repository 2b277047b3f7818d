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

func TestContractInABubble(t *testing.T) { contract(t, lockstest.Bubble) }

func TestContractOnRedis(t *testing.T) { contract(t, lockstest.Redis(t)) }

// TestClaims spells out what every gate rests on.
func TestClaims(t *testing.T) {
	expiry := []result.Hazard{
		result.HolderCrash, result.LateRelease, result.RepeatedRelease, result.GoneAtRelease, result.LostCommand, result.LostReply,
		result.Cancelled, result.ServerDown, result.Unavailable, result.Control,
	}
	watched := append(slices.Clone(expiry),
		result.SlowCall, result.LateRenewal, result.LostRenewal, result.Partition, result.FrozenServer)
	fence := append(slices.Clone(watched),
		result.LostMaster, result.PausedHolder, result.LostData, result.ClockJump, result.Bypass)
	want := map[string][]result.Hazard{
		"lua-release":      expiry,
		"lua-watchdog":     watched,
		"native-cas":       watched,
		"tair-cas-cad":     watched,
		"fenced":           fence,
		"redlock-watchdog": append(slices.Clone(watched), result.LostMinority),
		"fenced-redlock":   append(slices.Clone(fence), result.LostMinority, result.LostMajority),
	}
	for _, k := range safe.All() {
		require.ElementsMatch(t, want[k.Name], k.Withstands, k.Name)
		require.Equal(t, k.Survives(result.LostMaster), k.Fenced, "%s: only a fence withstands a lost master", k.Name)
		require.Equal(t, k.Survives(result.SlowCall), k.Renews, "%s: only renewal withstands a slow call", k.Name)
		require.False(t, k.Survives(result.StuckCall), "%s: who renews keeps the others out", k.Name)
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

func contract(t *testing.T, with lockstest.World) {
	t.Parallel()
	for _, k := range safe.All() {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			lockstest.Safe(t, k, with)
		})
	}
}
