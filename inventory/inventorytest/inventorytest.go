// Package inventorytest is the contract test that every inventory.Store passes.
package inventorytest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/inventory"
)

// Open connects to the store under test, each time as another process would.
// Run closes what it opens.
type Open func(t *testing.T) inventory.Store

// Run tests the contract of inventory.Store. All stores that open returns must
// share one inventory; each test has an article of its own in it.
func Run(t *testing.T, open Open) {
	cases := []struct {
		name string
		test func(t *testing.T, s *shop)
	}{
		{"unknown article", testUnknown},
		{"reset", testReset},
		{"begin", testBegin},
		{"commit", testCommit},
		{"a stale commit is refused with the fence", testFence},
		{"a token that was never issued is refused with the fence", testForgedToken},
		{"a stale commit is accepted without the fence", testNoFence},
		{"an order is written once", testIdempotence},
		{"orders are read in the order of commits", testOrder},
		{"articles are apart", testApart},
		{"an ended context", testEndedContext},
		{"concurrent begins", testConcurrentBegins},
		{"concurrent commits of one order", testConcurrentCommits},
		{"concurrent purchases with the fence", testConcurrentPurchases},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, newShop(t, open))
		})
	}
}

// shop is one test's store and article.
type shop struct {
	inventory.Store
	open func() inventory.Store
	sku  string
	n    int // of the last order made
}

func newShop(t *testing.T, open Open) *shop {
	s := &shop{sku: "article of " + strings.ReplaceAll(t.Name(), "/", ", ")}
	s.open = func() inventory.Store {
		st := open(t)
		t.Cleanup(func() { assert.NoError(t, st.Close()) })
		return st
	}
	s.Store = s.open()
	return s
}

// order makes the next order of the shop's article.
func (s *shop) order(token int64) inventory.Order {
	s.n++
	return inventory.Order{ID: fmt.Sprintf("%s #%d", s.sku, s.n), SKU: s.sku, Token: token, Instance: 3, Buyer: s.n}
}

func (s *shop) reset(t *testing.T, units int) {
	t.Helper()
	require.NoError(t, s.Reset(t.Context(), s.sku, units))
}

// begin requires the token and the stock that Begin must return.
func (s *shop) begin(t *testing.T, token int64, units int) {
	t.Helper()
	gotToken, gotUnits, err := s.Begin(t.Context(), s.sku)
	require.NoError(t, err)
	require.Equal(t, token, gotToken, "fencing token")
	require.Equal(t, units, gotUnits, "stock")
}

// holds requires what is in the inventory.
func (s *shop) holds(t *testing.T, units int, orders ...inventory.Order) {
	t.Helper()
	left, err := s.Units(t.Context(), s.sku)
	require.NoError(t, err)
	require.Equal(t, units, left, "stock")
	got, err := s.Orders(t.Context(), s.sku)
	require.NoError(t, err)
	if len(orders) == 0 {
		require.Empty(t, got)
		return
	}
	require.Equal(t, orders, got)
}

func testUnknown(t *testing.T, s *shop) {
	ctx := t.Context()
	_, _, err := s.Begin(ctx, s.sku)
	require.ErrorIs(t, err, inventory.ErrUnknownSKU)
	_, err = s.Commit(ctx, s.order(1), 1, false)
	require.ErrorIs(t, err, inventory.ErrUnknownSKU)
	_, err = s.Commit(ctx, s.order(1), 1, true)
	require.ErrorIs(t, err, inventory.ErrUnknownSKU)
	_, err = s.Orders(ctx, s.sku)
	require.ErrorIs(t, err, inventory.ErrUnknownSKU)
	_, err = s.Units(ctx, s.sku)
	require.ErrorIs(t, err, inventory.ErrUnknownSKU)

	s.reset(t, 1)
	s.begin(t, 1, 1) // none of the above has left a trace
	s.holds(t, 1)
}

func testReset(t *testing.T, s *shop) {
	s.reset(t, 2)
	s.begin(t, 1, 2)
	o := s.order(1)
	_, err := s.Commit(t.Context(), o, 1, true)
	require.NoError(t, err)

	s.reset(t, 7)
	s.holds(t, 7)
	s.begin(t, 1, 7)
	before, err := s.Commit(t.Context(), o, 6, true)
	require.NoError(t, err)
	require.Equal(t, 7, before, "the order of before the reset is forgotten")
	s.holds(t, 6, o)

	s.reset(t, 0)
	s.begin(t, 1, 0)
}

func testBegin(t *testing.T, s *shop) {
	s.reset(t, 5)
	other := s.open()
	s.begin(t, 1, 5)
	token, units, err := other.Begin(t.Context(), s.sku)
	require.NoError(t, err)
	require.EqualValues(t, 2, token, "tokens are the article's and not the client's")
	require.Equal(t, 5, units)
	s.begin(t, 3, 5)
}

func testCommit(t *testing.T, s *shop) {
	s.reset(t, 5)
	s.begin(t, 1, 5)
	first := s.order(1)
	before, err := s.Commit(t.Context(), first, 4, true)
	require.NoError(t, err)
	require.Equal(t, 5, before)
	s.holds(t, 4, first)

	s.begin(t, 2, 4)
	second := s.order(2)
	before, err = s.Commit(t.Context(), second, 3, false)
	require.NoError(t, err)
	require.Equal(t, 4, before)
	s.holds(t, 3, first, second)
}

func testFence(t *testing.T, s *shop) {
	s.reset(t, 5)
	s.begin(t, 1, 5)
	s.begin(t, 2, 5)
	_, err := s.Commit(t.Context(), s.order(1), 4, true)
	require.ErrorIs(t, err, inventory.ErrStaleToken)
	s.holds(t, 5)

	newest := s.order(2)
	before, err := s.Commit(t.Context(), newest, 4, true)
	require.NoError(t, err)
	require.Equal(t, 5, before)
	_, err = s.Commit(t.Context(), s.order(1), 4, true)
	require.ErrorIs(t, err, inventory.ErrStaleToken, "also after the newer one has committed")
	s.holds(t, 4, newest)
}

func testForgedToken(t *testing.T, s *shop) {
	s.reset(t, 5)
	for _, token := range []int64{0, 1, 2, -1, 1 << 60} {
		_, err := s.Commit(t.Context(), s.order(token), 4, true)
		require.ErrorIs(t, err, inventory.ErrStaleToken, "token %d before any was issued", token)
	}
	s.begin(t, 1, 5)
	_, err := s.Commit(t.Context(), s.order(2), 4, true)
	require.ErrorIs(t, err, inventory.ErrStaleToken)
	s.holds(t, 5)
}

// testNoFence is the lost update that a run counts: both read 5, both write 4.
func testNoFence(t *testing.T, s *shop) {
	s.reset(t, 5)
	s.begin(t, 1, 5)
	s.begin(t, 2, 5)
	newer, stale := s.order(2), s.order(1)
	before, err := s.Commit(t.Context(), newer, 4, false)
	require.NoError(t, err)
	require.Equal(t, 5, before)
	before, err = s.Commit(t.Context(), stale, 4, false)
	require.NoError(t, err)
	require.Equal(t, 4, before, "it reports the stock that it overwrote")
	s.holds(t, 4, newer, stale)
}

func testIdempotence(t *testing.T, s *shop) {
	s.reset(t, 5)
	s.begin(t, 1, 5)
	o := s.order(1)
	for range 2 {
		before, err := s.Commit(t.Context(), o, 4, true)
		require.NoError(t, err)
		require.Equal(t, 5, before)
		s.holds(t, 4, o)
	}

	s.begin(t, 2, 4)
	next := s.order(2)
	_, err := s.Commit(t.Context(), next, 3, true)
	require.NoError(t, err)
	for _, fence := range []bool{true, false} {
		before, err := s.Commit(t.Context(), o, 4, fence)
		require.NoError(t, err, "the answer stays the same when a newer token was issued since")
		require.Equal(t, 5, before)
	}
	s.holds(t, 3, o, next)
}

func testOrder(t *testing.T, s *shop) {
	s.reset(t, 20)
	var want []inventory.Order
	for left := 19; left >= 0; left-- {
		o := s.order(int64(left)) // neither tokens nor names grow with the commits
		o.ID = fmt.Sprintf("%s, %02d left", s.sku, left)
		_, err := s.Commit(t.Context(), o, left, false)
		require.NoError(t, err)
		want = append(want, o)
	}
	s.holds(t, 0, want...)
}

func testApart(t *testing.T, s *shop) {
	other := &shop{Store: s.Store, sku: s.sku + ", second edition"}
	s.reset(t, 5)
	other.reset(t, 9)
	s.begin(t, 1, 5)
	s.begin(t, 2, 5)
	other.begin(t, 1, 9)
	o := other.order(1)
	before, err := s.Commit(t.Context(), o, 8, true)
	require.NoError(t, err)
	require.Equal(t, 9, before)
	other.holds(t, 8, o)
	s.holds(t, 5)
	s.reset(t, 1)
	other.holds(t, 8, o)
}

func testEndedContext(t *testing.T, s *shop) {
	s.reset(t, 5)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := s.Begin(ctx, s.sku)
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.Commit(ctx, s.order(1), 4, false)
	require.ErrorIs(t, err, context.Canceled)
	s.holds(t, 5)
	s.begin(t, 1, 5)
}
