package redisstore_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/oversell/oversell/internal/redistest"
	"github.com/oversell/oversell/inventory"
	"github.com/oversell/oversell/inventory/inventorytest"
	"github.com/oversell/oversell/inventory/redisstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContractOnMiniredis(t *testing.T) {
	t.Parallel()
	contract(t, redistest.Mini(t))
}

func TestContractOnRedis(t *testing.T) {
	t.Parallel()
	contract(t, redistest.Process(t))
}

func contract(t *testing.T, s *redistest.Server) {
	inventorytest.Run(t, func(t *testing.T) inventory.Store {
		// Closed by the contract test, which is how Close is tested too.
		return redisstore.New(s.Client(t, nil))
	})
}

func TestErrorsSayWhatWasBeingDone(t *testing.T) {
	t.Parallel()
	s := redisstore.New(redistest.Mini(t).Client(t, nil))
	require.NoError(t, s.Close())
	ctx := t.Context()

	require.ErrorContains(t, s.Reset(ctx, "book", 3), `reset "book" to 3 units: `)
	_, _, err := s.Begin(ctx, "book")
	require.ErrorContains(t, err, `begin a purchase of "book": `)
	_, err = s.Commit(ctx, inventory.Order{ID: "7", SKU: "book"}, 2, true)
	require.ErrorContains(t, err, `commit order "7": `)
	_, err = s.Orders(ctx, "book")
	require.ErrorContains(t, err, `read the orders of "book": `)
	_, err = s.Units(ctx, "book")
	require.ErrorContains(t, err, `read the stock of "book": `)
	require.ErrorContains(t, s.Close(), "close the inventory's client: ")
}

func TestDamagedOrder(t *testing.T) {
	t.Parallel()
	client := redistest.Mini(t).Client(t, nil)
	s := redisstore.New(client)
	require.NoError(t, s.Reset(t.Context(), "book", 3))
	require.NoError(t, client.RPush(t.Context(), "oversell:{book}:orders", "no order").Err())
	_, err := s.Orders(t.Context(), "book")
	require.ErrorContains(t, err, `decode order 1 of "book": `)
}
