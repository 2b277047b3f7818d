package instance

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/inventory"
	"github.com/oversell/oversell/locks"
)

// outcome is what became of one attempt to buy.
type outcome int

const (
	again       outcome = iota // nothing was bought; the buyer still wants it
	unreachable                // as again, because a server didn't answer
	bought                     // an order was committed, or may have been
	soldOut                    // there was nothing left
)

// Shop is what the buyers of one instance share.
type Shop struct {
	Instance int
	Locker   locks.Locker
	Store    inventory.Store
	Key, SKU string
	TTL      time.Duration
	Fence    bool
	Retry    time.Duration // mean pause of a buyer after an attempt that came to nothing
	// Record keeps an event; it is stamped by the time of the call.
	Record func(history.Event)
	// Call is the business call. It blocks until the call returns or ctx ends.
	Call func(ctx context.Context, c Call) error
	// AskCommit announces every commit through Call too, after the purchase has
	// looked at its lock for the last time.
	AskCommit bool

	underWay cancels
}

// Cancel ends every purchase under way, as if its customer had gone. Buyers
// come back for what they didn't get.
func (s *Shop) Cancel() { s.underWay.all() }

// Buy lets one buyer purchase until it has what it wants, nothing is left, or
// ctx ends.
func (s *Shop) Buy(ctx context.Context, buyer, wants int, rng *rand.Rand) {
	patience := s.Retry
	for attempt := 1; wants > 0; attempt++ {
		p := purchase{Shop: s, buyer: buyer, id: history.PurchaseID(s.Instance, buyer, attempt)}
		switch p.attempt(ctx) {
		case bought:
			wants--
			continue
		case soldOut:
			p.record(history.Event{Kind: history.SoldOut})
			wants = 0
			continue
		case unreachable:
			patience = min(2*patience, maxBackoff*s.Retry)
		default:
			patience = s.Retry
		}
		if !pause(ctx, patience/2+time.Duration(rng.Int64N(int64(patience)+1))) {
			return
		}
	}
	s.Record(history.Event{Kind: history.BuyerDone, Instance: s.Instance, Buyer: buyer})
}

// maxBackoff bounds, in pauses, how patient a buyer becomes with a server that
// doesn't answer. Without patience a few hundred buyers keep a failing server,
// and the sentinels that should replace it, busy with nothing but connections.
const maxBackoff = 16

// pause returns false when ctx ended before d had passed.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// purchase is one attempt to buy one unit.
type purchase struct {
	*Shop
	buyer int
	id    string
}

func (p *purchase) record(e history.Event) {
	e.Instance, e.Buyer, e.Purchase = p.Instance, p.buyer, p.id
	p.Record(e)
}

// attempt runs the purchase under a context that Cancel can end.
func (p *purchase) attempt(ctx context.Context) outcome {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	forget := p.underWay.add(cancel)
	defer forget()
	return p.run(ctx)
}

// run is the incident's purchase: acquire, begin, call, commit, release.
func (p *purchase) run(ctx context.Context) outcome {
	p.record(history.Event{Kind: history.AcquireStart})
	lease, err := p.Locker.Acquire(ctx, p.Key, p.TTL)
	switch {
	case errors.Is(err, locks.ErrNotAcquired):
		p.record(history.Event{Kind: history.AcquireRefused, Err: err.Error()})
		return again
	case err != nil:
		p.record(history.Event{Kind: history.AcquireUnknown, Err: err.Error()})
		return unreachable
	}
	p.record(history.Event{Kind: history.Acquired})
	inside, done := p.untilLost(ctx, lease)
	got := p.buy(inside, ctx)
	done()
	p.release(ctx, lease)
	return got
}

// errCancelled is the cause with which a purchase's context ends on Cancel.
var errCancelled = errors.New("instance: the customer is gone")

// cancels ends the purchases under way. Safe for concurrent use.
type cancels struct {
	mu   sync.Mutex
	next int
	list map[int]context.CancelCauseFunc
}

func (c *cancels) add(cancel context.CancelCauseFunc) (forget func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.list == nil {
		c.list = map[int]context.CancelCauseFunc{}
	}
	id := c.next
	c.next++
	c.list[id] = cancel
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.list, id)
	}
}

func (c *cancels) all() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cancel := range c.list {
		cancel(errCancelled)
	}
}

// errLost is the cause with which a purchase's context ends when its lock is lost.
var errLost = errors.New("instance: the lock was lost")

// untilLost returns a context that also ends when the lease says Lost, which
// it records. done ends the watch and waits for it, so that no loss is
// recorded after the release has begun.
func (p *purchase) untilLost(ctx context.Context, lease locks.Lease) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	lost := lease.Lost()
	if lost == nil {
		return ctx, func() { cancel(nil) }
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-lost:
			p.record(history.Event{Kind: history.LostNoticed})
			cancel(errLost)
		case <-stop:
		}
	}()
	return ctx, func() {
		close(stop)
		<-stopped
		cancel(nil)
	}
}

// buy is what the lock protects. It gives up when ctx ends, which it also does
// when the lock is lost; the write itself only ends with the purchase.
func (p *purchase) buy(ctx, purchase context.Context) outcome {
	token, units, err := p.Store.Begin(ctx, p.SKU)
	if err != nil {
		return p.abandon(ctx, err)
	}
	p.record(history.Event{Kind: history.Begun, Token: token, Units: units})
	if units <= 0 {
		return soldOut
	}
	p.record(history.Event{Kind: history.CallStart, Token: token})
	started := time.Now()
	err = p.Call(ctx, Call{Instance: p.Instance, Buyer: p.buyer, Purchase: p.id, Token: token, Units: units})
	p.record(history.Event{Kind: history.CallEnd, Token: token, Took: time.Since(started)})
	if err != nil {
		return p.abandon(ctx, err)
	}
	if ctx.Err() != nil {
		return p.abandon(ctx, ctx.Err())
	}
	return p.commit(purchase, token, units)
}

func (p *purchase) abandon(ctx context.Context, err error) outcome {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	p.record(history.Event{Kind: history.Abandoned, Err: err.Error()})
	return again
}

// commit sells one of the units that were read: it writes stock and order. A
// commit whose outcome is unknown counts as bought: the customer who comes back
// for it would make two orders of one wish.
func (p *purchase) commit(ctx context.Context, token int64, read int) outcome {
	units := read - 1
	p.record(history.Event{Kind: history.CommitStart, Token: token, Units: units})
	if p.AskCommit {
		c := Call{Instance: p.Instance, Buyer: p.buyer, Purchase: p.id, Token: token, Units: read, Commit: true}
		if err := p.Call(ctx, c); err != nil {
			return p.abandon(ctx, err)
		}
	}
	o := inventory.Order{ID: p.id, SKU: p.SKU, Token: token, Instance: p.Instance, Buyer: p.buyer}
	before, err := p.Store.Commit(ctx, o, units, p.Fence)
	switch {
	case errors.Is(err, inventory.ErrStaleToken):
		p.record(history.Event{Kind: history.CommitRefused, Token: token})
		return again
	case err != nil:
		p.record(history.Event{Kind: history.CommitUnknown, Token: token, Err: err.Error()})
		return bought
	}
	p.record(history.Event{Kind: history.Committed, Token: token, Units: units, Before: before})
	return bought
}

// releaseTimeout bounds a release: the servers may be gone.
const releaseTimeout = 3 * time.Second

// release gives the lock back also when the purchase's context has ended: a
// purchase that was cancelled must not leave its key behind.
func (p *purchase) release(ctx context.Context, lease locks.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	p.record(history.Event{Kind: history.ReleaseStart})
	switch err := lease.Release(ctx); {
	case err == nil:
		p.record(history.Event{Kind: history.Released})
	case errors.Is(err, locks.ErrNotHeld):
		p.record(history.Event{Kind: history.ReleaseNotHeld, Err: err.Error()})
	default:
		p.record(history.Event{Kind: history.ReleaseUnknown, Err: err.Error()})
	}
}
