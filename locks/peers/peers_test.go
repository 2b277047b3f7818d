package peers_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/locks/lockstest"
	"github.com/oversell/oversell/locks/peers"
	"github.com/oversell/oversell/result"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// polling are the kinds whose waiting is the adapter's.
func polling() []locks.Kind {
	var ks []locks.Kind
	for _, k := range peers.All() {
		if k.Name != "rueidislock" {
			ks = append(ks, k)
		}
	}
	return ks
}

func TestList(t *testing.T) { lockstest.List(t, peers.All()) }

func TestContractInABubble(t *testing.T) { contract(t, lockstest.Bubble) }

func TestContractOnRedis(t *testing.T) { contract(t, lockstest.Redis(t)) }

func contract(t *testing.T, with lockstest.World) {
	t.Parallel()
	for _, k := range polling() {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			lockstest.Run(t, k, with)
			lockstest.Errors(t, k, with)
			lockstest.OneStep(t, k, with)
			lockstest.OwnerChecked(t, k, with)
			if k.Renews {
				lockstest.NoticesLoss(t, k, with)
			}
			// Not TakesBack for redislock, which leaves a doubtful key to its TTL.
			for _, s := range k.Topologies {
				if s == cluster.Quorum {
					// Not Decisive: redsync's Unlock waits for the slowest master, and
					// what it takes back, it takes back with the caller's context.
					lockstest.TakesBack(t, k, with)
					lockstest.Majority(t, k, with)
				}
			}
		})
	}
}

// TestRueidislockOnRedis leaves out what its API can't say: whether a release
// found the key, and why waiting goes on.
func TestRueidislockOnRedis(t *testing.T) {
	t.Parallel()
	with := lockstest.Redis(t)
	for _, k := range peers.All() {
		if k.Name == "rueidislock" {
			lockstest.Basics(t, k, with)
		}
	}
}

// TestClaims: no library has a fence, and one that nothing extends can't
// outlast a slow call.
func TestClaims(t *testing.T) {
	for _, k := range peers.All() {
		require.False(t, k.Fenced, k.Name)
		for _, h := range []result.Hazard{result.PausedHolder, result.StuckCall, result.LostMajority, result.Bypass} {
			require.False(t, k.Survives(h), "%s under %s", k.Name, h)
		}
		require.Equal(t, k.Renews, k.Survives(result.SlowCall), k.Name)
		require.True(t, k.Survives(result.Control), k.Name)
	}
}
