package instance_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/instance"
	"github.com/oversell/oversell/locks"
)

func rng() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func TestPurchaseTellsItsWholeStory(t *testing.T) {
	rec, store := &log{}, &memoryStore{units: 1}
	newShop(newMemoryLock(), store, rec).Buy(t.Context(), 7, 2, rng())

	require.Equal(t, []history.Kind{
		history.AcquireStart, history.Acquired, history.Begun, history.CallStart, history.CallEnd,
		history.CommitStart, history.Committed, history.ReleaseStart, history.Released,
		history.AcquireStart, history.Acquired, history.Begun, history.ReleaseStart, history.Released,
		history.SoldOut, history.BuyerDone,
	}, rec.kinds(7))
	require.Len(t, store.orders, 1)
	require.Equal(t, "1.7.1", store.orders[0].ID)
	require.Equal(t, 0, store.units)
	committed := rec.events[6]
	require.Equal(t, 1, committed.Before)
	require.Equal(t, 0, committed.Units)
}

func TestPurchaseGivesUpWhenTheLeaseIsLost(t *testing.T) {
	rec, store, lock := &log{}, &memoryStore{units: 5}, newMemoryLock()
	lock.lost = make(chan struct{})
	shop := newShop(lock, store, rec)
	ctx, cancel := context.WithCancel(t.Context())
	shop.Call = func(ctx context.Context, _ instance.Call) error {
		close(lock.lost)
		<-ctx.Done() // the call is cancelled, as a careful shop would
		cancel()
		return ctx.Err()
	}
	shop.Buy(ctx, 1, 1, rng())

	require.Equal(t, []history.Kind{
		history.AcquireStart, history.Acquired, history.Begun, history.CallStart,
		history.LostNoticed, history.CallEnd, history.Abandoned, history.ReleaseStart, history.Released,
	}, rec.kinds(1))
	require.Contains(t, rec.events[6].Err, "the lock was lost")
	require.Empty(t, store.orders, "nothing is committed without the lock")
}

func TestPurchaseReleasesAlsoWhenItIsCancelled(t *testing.T) {
	rec, store, lock := &log{}, &memoryStore{units: 5}, newMemoryLock()
	shop := newShop(lock, store, rec)
	ctx, cancel := context.WithCancel(t.Context())
	shop.Call = func(ctx context.Context, _ instance.Call) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}
	shop.Buy(ctx, 1, 1, rng())
	require.Contains(t, rec.kinds(1), history.Released)
	require.Empty(t, lock.sem, "the lock is free again")
}

func TestRefusedCommitIsTriedAgain(t *testing.T) {
	rec, store := &log{}, &memoryStore{units: 5}
	shop := newShop(newMemoryLock(), store, rec)
	shop.Fence = true
	overtaken := false
	shop.Call = func(ctx context.Context, _ instance.Call) error {
		if !overtaken {
			overtaken = true
			_, _, err := store.Begin(ctx, "sku") // someone else begins meanwhile
			return err
		}
		return nil
	}
	shop.Buy(t.Context(), 1, 1, rng())
	require.Contains(t, rec.kinds(1), history.CommitRefused)
	require.Len(t, store.orders, 1)
	require.Equal(t, "1.1.2", store.orders[0].ID, "the second attempt is a purchase of its own")
}

func TestAcquireOutcomesAreToldApart(t *testing.T) {
	rec, store, lock := &log{}, &memoryStore{units: 5}, newMemoryLock()
	answers := []error{errors.New("connection reset"), locks.ErrNotAcquired, nil}
	lock.acquire = func() error {
		a := answers[0]
		answers = answers[1:]
		return a
	}
	newShop(lock, store, rec).Buy(t.Context(), 1, 1, rng())
	require.Equal(t, []history.Kind{
		history.AcquireStart, history.AcquireUnknown, history.AcquireStart, history.AcquireRefused,
		history.AcquireStart, history.Acquired,
	}, rec.kinds(1)[:6])
}

func TestUnknownCommitIsNotRepeated(t *testing.T) {
	rec, store := &log{}, &memoryStore{units: 5}
	store.fail = func() error { return errors.New("connection reset") }
	newShop(newMemoryLock(), store, rec).Buy(t.Context(), 1, 1, rng())
	require.Equal(t, history.BuyerDone, rec.kinds(1)[len(rec.kinds(1))-1])
	require.Contains(t, rec.kinds(1), history.CommitUnknown)
}

func TestBuyerLeavesWhenItsContextEnds(t *testing.T) {
	rec, store, lock := &log{}, &memoryStore{units: 5}, newMemoryLock()
	lock.sem <- struct{}{} // somebody else holds it for good
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	newShop(lock, store, rec).Buy(ctx, 1, 1, rng())
	require.NotContains(t, rec.kinds(1), history.BuyerDone)
	require.Contains(t, rec.kinds(1), history.AcquireRefused)
}
