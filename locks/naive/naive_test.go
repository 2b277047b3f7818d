package naive_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/locks/lockstest"
	"github.com/oversell/oversell/locks/naive"
	"github.com/oversell/oversell/result"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestList(t *testing.T) { lockstest.List(t, naive.All()) }

func TestContractInABubble(t *testing.T) { contract(t, lockstest.Bubble) }

func TestContractOnRedis(t *testing.T) { contract(t, lockstest.Redis(t)) }

type group func(*testing.T, locks.Kind, lockstest.World)

// properties are what each kind gets right, beside what every kind does, and
// the ways in which it is broken. Those have to stay: a naive lock that doesn't
// show its defect is no test for the harness.
var properties = map[string]struct{ right, defects []group }{
	"setnx-expire-del": {
		[]group{lockstest.Errors},
		[]group{lockstest.BlindRelease, lockstest.TwoStepAcquire},
	},
	"constant-value": {
		[]group{lockstest.Errors, lockstest.OneStep},
		[]group{lockstest.BlindRelease},
	},
	"get-then-del": {
		[]group{lockstest.Errors, lockstest.OneStep},
		[]group{lockstest.TwoStepRelease},
	},
	"set-nx-ex": {
		[]group{lockstest.Errors, lockstest.OneStep},
		[]group{lockstest.BlindRelease},
	},
	"exset-excad": {
		[]group{lockstest.Errors, lockstest.OneStep},
		[]group{lockstest.BlindRelease},
	},
	"renew-unowned": {
		[]group{lockstest.Errors, lockstest.OneStep, lockstest.OwnerChecked},
		[]group{lockstest.RenewsOthers},
	},
	"watchdog-no-retry": {
		[]group{lockstest.Errors, lockstest.OneStep, lockstest.OwnerChecked},
		[]group{lockstest.GivesUpRenewing},
	},
	"leaky-watchdog": {
		[]group{lockstest.Errors, lockstest.OneStep, lockstest.OwnerChecked},
		[]group{lockstest.LeaksRenewals},
	},
	"fail-open": {
		[]group{lockstest.OneStep, lockstest.OwnerChecked},
		[]group{lockstest.FailsOpen},
	},
}

func contract(t *testing.T, with lockstest.World) {
	t.Parallel()
	require.Len(t, properties, len(naive.All()))
	for _, k := range naive.All() {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			p := properties[k.Name]
			require.NotEmpty(t, p.defects, "a naive lock without a known defect")
			lockstest.Run(t, k, with)
			for _, tests := range slices.Concat(p.right, p.defects) {
				tests(t, k, with)
			}
		})
	}
}

// TestClaims keeps what no lock of this package can withstand out of its claims.
func TestClaims(t *testing.T) {
	for _, k := range naive.All() {
		require.False(t, k.Fenced, k.Name)
		for _, h := range slices.Concat(locks.WithstoodByFence(), locks.WithstoodByOwnClock(), []result.Hazard{
			result.StuckCall, result.LostMinority, result.LostMajority,
		}) {
			require.False(t, k.Survives(h), "%s under %s", k.Name, h)
		}
		require.Equal(t, k.Renews, k.Survives(result.SlowCall), "%s: only renewal withstands a slow call", k.Name)
		require.True(t, k.Survives(result.Control), "%s breaks where nothing is wrong", k.Name)
	}
}
