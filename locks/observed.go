package locks

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Observer hears of what an observed locker does. Its methods are called by the
// goroutine that acquires or releases, with that one's ctx: they must be safe for
// concurrent use and must not block. Log is one; package metrics has another.
type Observer interface {
	// Acquired hears of every Acquire that has returned, however it did.
	Acquired(ctx context.Context, a Acquisition)
	// Released hears of every Release that has returned, up to the first that
	// was answered: releasing once more, as a deferred Release does, is no news.
	Released(ctx context.Context, h Hold)
}

// Acquisition is one Acquire that has returned.
type Acquisition struct {
	Key  string
	TTL  time.Duration
	Took time.Duration // from the call to its return
	Err  error         // nil: the lock was acquired
}

// Hold is one lease, as it was when Release had returned.
type Hold struct {
	Key  string
	TTL  time.Duration
	Held time.Duration // from the return of Acquire to the first call of Release
	Took time.Duration // from the call of Release to its return
	// Renewed is how often the lock was renewed while it was held, -1 when the
	// lease doesn't tell, see RenewalCounter.
	Renewed int
	Lost    bool  // the lease had said Lost when Release was called
	Again   bool  // an earlier Release of this lease returned without an answer
	Err     error // nil: the lock was released
}

// Ratio is the share of the TTL for which the lock was held: from 1 on only
// renewals can have kept others out.
func (h Hold) Ratio() float64 {
	if h.TTL <= 0 {
		return 0
	}
	return float64(h.Held) / float64(h.TTL)
}

// Outcome is how an Acquire or a Release ended, in one of a few words.
type Outcome string

// The outcomes.
const (
	OutcomeAcquired    Outcome = "acquired"
	OutcomeNotAcquired Outcome = "not_acquired" // ErrNotAcquired
	OutcomeReleased    Outcome = "released"
	OutcomeNotHeld     Outcome = "not_held" // ErrNotHeld: others may have been inside meanwhile
	OutcomeUntold      Outcome = "untold"   // ErrUntold
	OutcomeUnknown     Outcome = "unknown"  // any other error: the key may be held
)

// Outcome tells the errors of Acquire apart.
func (a Acquisition) Outcome() Outcome {
	switch {
	case a.Err == nil:
		return OutcomeAcquired
	case errors.Is(a.Err, ErrNotAcquired):
		return OutcomeNotAcquired
	}
	return OutcomeUnknown
}

// Outcome tells the errors of Release apart.
func (h Hold) Outcome() Outcome {
	switch {
	case h.Err == nil:
		return OutcomeReleased
	case errors.Is(h.Err, ErrNotHeld):
		return OutcomeNotHeld
	case errors.Is(h.Err, ErrUntold):
		return OutcomeUntold
	}
	return OutcomeUnknown
}

// RenewalCounter is a lease that tells how often it was renewed.
type RenewalCounter interface {
	// Renewals is how many renewals have worked so far. Safe for concurrent use,
	// also after Release.
	Renewals() int
}

// Observed is l, with observers that hear of every acquire and release. It
// changes nothing else: leases, errors and Lost are those of l. It starts no
// goroutine, so that a lease which is never released costs nothing, but isn't
// heard of either; that a lease was lost is told when it is released.
func Observed(l Locker, observers ...Observer) Locker {
	return &observed{Locker: l, by: observers}
}

type observed struct {
	Locker
	by []Observer
}

func (o *observed) Acquire(ctx context.Context, key string, ttl time.Duration) (Lease, error) {
	called := time.Now()
	lease, err := o.Locker.Acquire(ctx, key, ttl)
	returned := time.Now()
	a := Acquisition{Key: key, TTL: ttl, Took: returned.Sub(called), Err: err}
	for _, by := range o.by {
		by.Acquired(ctx, a)
	}
	if err != nil {
		return nil, err
	}
	return &observedLease{Lease: lease, by: o.by, key: key, ttl: ttl, since: returned}, nil
}

type observedLease struct {
	Lease
	by    []Observer
	key   string
	ttl   time.Duration
	since time.Time // Acquire returned

	mu    sync.Mutex
	held  time.Duration // until the first Release was called
	lost  bool          // by then
	tries int           // calls of Release so far
	over  bool          // a Release was answered
}

func (l *observedLease) Release(ctx context.Context) error {
	called := time.Now()
	h := l.begin(called)
	h.Err = l.Lease.Release(ctx)
	h.Took, h.Renewed = time.Since(called), l.Renewals()
	if l.end(h.Outcome()) {
		for _, by := range l.by {
			by.Released(ctx, h)
		}
	}
	return h.Err
}

// begin notes that Release was called.
func (l *observedLease) begin(called time.Time) Hold {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tries == 0 {
		l.held, l.lost = called.Sub(l.since), closed(l.Lost())
	}
	l.tries++
	return Hold{Key: l.key, TTL: l.ttl, Held: l.held, Lost: l.lost, Again: l.tries > 1}
}

// end notes how Release ended, and reports whether that is news.
func (l *observedLease) end(o Outcome) (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	news = !l.over
	l.over = l.over || o != OutcomeUnknown
	return news
}

// Renewals passes on what the lease tells; -1 when it doesn't.
func (l *observedLease) Renewals() int {
	if c, ok := l.Lease.(RenewalCounter); ok {
		return c.Renewals()
	}
	return -1
}

// closed reports whether c is closed; nil never is.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
