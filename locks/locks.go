// Package locks is the contract between a way of locking and everything that
// tries it out.
package locks

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/result"
)

// Definite answers, and one that can't be. Any other error of Acquire or Release
// leaves the outcome unknown.
var (
	// ErrNotAcquired means that the key is certainly not held by this acquirer.
	ErrNotAcquired = errors.New("locks: not acquired")
	// ErrNotHeld means that the key was certainly someone else's, or gone.
	ErrNotHeld = errors.New("locks: not held")
	// ErrUntold means that the lock was given back as far as it was still held,
	// and that this way of locking doesn't say whether it was.
	ErrUntold = errors.New("locks: not told whether the lock was still held")
)

// Locker is one instance's client of one lock kind. Safe for concurrent use by
// the instance's buyers.
type Locker interface {
	// Acquire blocks until the lock is held or ctx ends. ErrNotAcquired means
	// certainly not held; any other error means that the outcome is unknown and
	// the key may be held.
	Acquire(ctx context.Context, key string, ttl time.Duration) (Lease, error)
	// Close frees what the locker holds on to, and waits for its goroutines. It
	// doesn't close the clients.
	Close() error
}

// Lease is one held lock. It belongs to one purchase.
type Lease interface {
	// Lost is closed when the lock knows that it no longer holds the key. It is
	// nil if the kind can't tell.
	Lost() <-chan struct{}
	// Release gives the lock back. ErrNotHeld means that it was certainly
	// someone else's or gone; ErrUntold is for kinds that can't say.
	Release(ctx context.Context) error
}

// Clients are an instance's ways to the servers that hold locks. Every
// connection crosses the instance's wire. Their go-redis clients don't retry
// (MaxRetries -1) and keep to deadlines (ContextTimeoutEnabled): a retry behind a
// lock's back can turn "acquired" into "not acquired", see Refused.
type Clients struct {
	Shape cluster.Shape
	// Redis is the server, or the master that the sentinels name. Nil in the
	// quorum shape.
	Redis redis.UniversalClient
	// MasterSet is the name under which the sentinels know the master.
	MasterSet string
	// Masters are the independent masters of the quorum shape.
	Masters []redis.UniversalClient
	// Dial reaches a server by its announced address, for clients other than go-redis.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Addrs are the announced addresses: of the server, the sentinels or the masters.
	Addrs []string
}

// Options tune a locker.
type Options struct {
	// RetryEvery is the mean pause between two attempts to acquire; each pause
	// is drawn from half to one and a half of it. 0 means 20 ms.
	RetryEvery time.Duration
	// Rand draws pauses and, where a kind wants it, values. Nil means the global source.
	Rand *rand.Rand
}

// Kind is one way of locking: how to acquire, keep and release.
type Kind struct {
	Name    string // e.g. "setnx-expire-del"
	Alias   string // a second name for the command line, "" for none
	Summary string // one line
	// Origin says where this way of locking comes from, for the docs.
	Origin string

	Topologies []cluster.Shape      // where it runs
	Needs      []cluster.Capability // what its server must have: else it is skipped, with the reason
	Fenced     bool                 // the purchase uses the inventory's fence
	Renews     bool                 // it relies on renewing in time
	Withstands []result.Hazard      // the expectation of every run follows from this
	// KeyForm makes of a key one that the kind leaves as it is on the server.
	// Nil for a kind that does so with every key.
	KeyForm func(key string) string

	New func(ctx context.Context, c Clients, opts Options) (Locker, error)
}

// Survives reports whether the kind claims to withstand h.
func (k Kind) Survives(h result.Hazard) bool {
	for _, w := range k.Withstands {
		if w == h {
			return true
		}
	}
	return false
}

// Expected is what a run of the kind under h must come to.
func (k Kind) Expected(h result.Hazard) result.Expectation {
	if k.Survives(h) {
		return result.ExpectOK
	}
	return result.ExpectNotOK
}
