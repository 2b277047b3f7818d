package safe_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/oversell/oversell/locks/lockstest"
	"github.com/oversell/oversell/locks/safe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestList(t *testing.T) { lockstest.List(t, safe.All()) }

func TestContractInABubble(t *testing.T) {
	contract(t, func(*testing.T) lockstest.World { return lockstest.Bubble })
}

func TestContractOnRedis(t *testing.T) { contract(t, lockstest.Redis) }

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
