package inventorytest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/oversell/oversell/inventory"
)

// Load of the concurrent tests: some processes, each with some buyers.
const (
	processes = 3
	buyers    = 8
)

// buy runs purchase once for every buyer of every process, all at once.
func (s *shop) buy(t *testing.T, purchase func(st inventory.Store, who string) error) {
	t.Helper()
	var g errgroup.Group
	start := make(chan struct{})
	for p := range processes {
		st := s.open()
		for b := range buyers {
			g.Go(func() error {
				<-start
				return purchase(st, fmt.Sprintf("%s, %d.%d", s.sku, p, b))
			})
		}
	}
	close(start)
	require.NoError(t, g.Wait())
}

func testConcurrentBegins(t *testing.T, s *shop) {
	const each = 10
	s.reset(t, 5)
	var mu sync.Mutex
	var tokens []int64
	s.buy(t, func(st inventory.Store, _ string) error {
		for range each {
			token, units, err := st.Begin(t.Context(), s.sku)
			if err != nil {
				return err
			}
			if units != 5 {
				return fmt.Errorf("token %d came with a stock of %d", token, units)
			}
			mu.Lock()
			tokens = append(tokens, token)
			mu.Unlock()
		}
		return nil
	})
	slices.Sort(tokens)
	require.Len(t, tokens, processes*buyers*each)
	for i, token := range tokens {
		require.EqualValues(t, i+1, token, "tokens are 1, 2, 3, ... and none is issued twice")
	}
}

func testConcurrentCommits(t *testing.T, s *shop) {
	s.reset(t, 5)
	s.begin(t, 1, 5)
	o := s.order(1)
	s.buy(t, func(st inventory.Store, _ string) error {
		before, err := st.Commit(t.Context(), o, 4, true)
		if err == nil && before != 5 {
			err = fmt.Errorf("a commit says that it overwrote a stock of %d", before)
		}
		return err
	})
	s.holds(t, 4, o)
}

// testConcurrentPurchases sells out without any lock: the fence alone refuses
// every purchase that was overtaken.
func testConcurrentPurchases(t *testing.T, s *shop) {
	const stock = 15
	s.reset(t, stock)
	s.buy(t, func(st inventory.Store, who string) error {
		for n := 1; ; n++ {
			token, units, err := st.Begin(t.Context(), s.sku)
			if err != nil || units == 0 {
				return err
			}
			o := inventory.Order{ID: fmt.Sprintf("%s.%d", who, n), SKU: s.sku, Token: token}
			before, err := st.Commit(t.Context(), o, units-1, true)
			switch {
			case errors.Is(err, inventory.ErrStaleToken):
				// Back off, ever longer: a store that serves everyone in turn
				// would let them overtake each other for ever.
				time.Sleep(rand.N(time.Duration(n) * time.Millisecond))
			case err != nil:
				return err
			case before != units:
				return fmt.Errorf("token %d read a stock of %d and overwrote %d", token, units, before)
			}
		}
	})
	s.soldOut(t, stock)
}

// soldOut requires as many orders as there was stock, with growing tokens.
func (s *shop) soldOut(t *testing.T, stock int) {
	t.Helper()
	left, err := s.Units(t.Context(), s.sku)
	require.NoError(t, err)
	require.Zero(t, left)
	orders, err := s.Orders(t.Context(), s.sku)
	require.NoError(t, err)
	require.Len(t, orders, stock)
	for i := 1; i < len(orders); i++ {
		require.Greater(t, orders[i].Token, orders[i-1].Token, "accepted tokens never go back")
	}
}
