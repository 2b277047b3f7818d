package instance_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/instance"
	"github.com/oversell/oversell/inventory"
	"github.com/oversell/oversell/locks"
)

// memoryStore is an inventory in memory, whose commits can be made to fail.
type memoryStore struct {
	mu     sync.Mutex
	units  int
	token  int64
	orders []inventory.Order
	fail   func() error // asked by every Begin and Commit; nil for none
}

func (s *memoryStore) Reset(_ context.Context, _ string, units int) error {
	s.units = units
	return nil
}

func (s *memoryStore) Begin(context.Context, string) (int64, int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token++
	return s.token, s.units, nil
}

func (s *memoryStore) Commit(ctx context.Context, o inventory.Order, units int, fence bool) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		if err := s.fail(); err != nil {
			return 0, err
		}
	}
	if fence && o.Token != s.token {
		return 0, inventory.ErrStaleToken
	}
	before := s.units
	s.units = units
	s.orders = append(s.orders, o)
	return before, nil
}

func (s *memoryStore) Orders(context.Context, string) ([]inventory.Order, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.orders), nil
}

func (s *memoryStore) Units(context.Context, string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.units, nil
}

func (s *memoryStore) Close() error { return nil }

// memoryLock is a mutex that can be taken away from its holder.
type memoryLock struct {
	sem     chan struct{}
	lost    chan struct{} // given to every lease; nil for a kind that can't tell
	acquire func() error  // asked before every acquisition; nil for none
}

func newMemoryLock() *memoryLock { return &memoryLock{sem: make(chan struct{}, 1)} }

func (l *memoryLock) Acquire(ctx context.Context, _ string, _ time.Duration) (locks.Lease, error) {
	if l.acquire != nil {
		if err := l.acquire(); err != nil {
			return nil, err
		}
	}
	select {
	case l.sem <- struct{}{}:
		return &memoryLease{l}, nil
	case <-ctx.Done():
		return nil, errors.Join(locks.ErrNotAcquired, ctx.Err())
	}
}

func (l *memoryLock) Close() error { return nil }

type memoryLease struct{ l *memoryLock }

func (m *memoryLease) Lost() <-chan struct{} { return m.l.lost }

func (m *memoryLease) Release(context.Context) error {
	select {
	case <-m.l.sem:
		return nil
	default:
		return locks.ErrNotHeld
	}
}

// log keeps events.
type log struct {
	mu     sync.Mutex
	events []history.Event
}

func (l *log) record(e history.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

// kinds are the kinds of the events of one buyer, in order.
func (l *log) kinds(buyer int) []history.Kind {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []history.Kind
	for _, e := range l.events {
		if e.Buyer == buyer {
			out = append(out, e.Kind)
		}
	}
	return out
}

// newShop is a shop on fakes, whose business call returns at once.
func newShop(l *memoryLock, s *memoryStore, rec *log) *instance.Shop {
	return &instance.Shop{
		Instance: 1, Locker: l, Store: s, Key: "lock", SKU: "sku", TTL: time.Second,
		Retry: time.Millisecond, Record: rec.record,
		Call: func(context.Context, instance.Call) error { return nil },
	}
}
