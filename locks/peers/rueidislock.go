package peers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/result"
)

// rueidislockKind is the lock of the redis/rueidis module as its README shows
// it for one server: KeyMajority 1, NoLoopTracking where the server is new
// enough for it, a patient TryNextAfter, and the defaults for the rest. It waits for the server's
// notices instead of polling, and extends by itself every half of the TTL.
//
// Its release says nothing of what became of it, so Release gives ErrUntold. Its
// waiting retries whatever fails, so Acquire waits where others would report a
// refusal. A try that fails by its own time-out isn't repeated before the next
// notice, which may never come: so the adapter raises the time-out, which is
// meant for going on to the next of several servers, lets each wait last for
// longer than the TTL and then waits anew, as customers do whose requests have a
// deadline.
func rueidislockKind() locks.Kind {
	return locks.Kind{
		Name:       "rueidislock",
		Summary:    "rueidislock: client-side caching instead of polling, extended every half of the TTL",
		Origin:     "github.com/redis/rueidis/rueidislock v1.0",
		Topologies: []cluster.Shape{cluster.Single, cluster.Sentinel},
		Needs:      []cluster.Capability{cluster.Tracking},
		Renews:     true,
		// The server's notices, and a broken connection, tell it at once that the
		// key may be gone. What it learns by its clock, it learns up to half a TTL
		// too late for a partition. After a restart or a failover it is told by the
		// new connection, before others get in as long as those only wait for a
		// notice; who asks anew just then may be first.
		Withstands: slices.Concat(locks.WithstoodByExpiry(), locks.WithstoodByOwnerCheck(), locks.WithstoodByRenewal(),
			[]result.Hazard{result.FrozenServer, result.LostData, result.ClockJump, result.LostMaster}),
		KeyForm: func(key string) string { return key + rueidisInfix + "lock" },
		New: func(_ context.Context, c locks.Clients, opts locks.Options) (locks.Locker, error) {
			if c.Redis == nil || c.Dial == nil || len(c.Addrs) == 0 {
				return nil, errors.New("rueidislock: the cluster has no one server to lock on")
			}
			return &rueidisLocker{clients: c, life: locks.NewLife(), open: map[rueidisKey]rueidislock.Locker{}}, nil
		},
	}
}

// rueidisInfix stands between the prefix and the name in every key that the
// library uses with KeyMajority 1.
const rueidisInfix = ":0:"

// rueidisTry is the time-out of one try. With the default of 20 ms a server that
// is busy for a moment leaves every instance waiting.
const rueidisTry = time.Second

// rueidisKey is what the library fixes when its locker is made.
type rueidisKey struct {
	prefix string
	ttl    time.Duration
}

// rueidisLocker makes the library's lockers as keys and TTLs ask for them; in
// one run there is one of each.
type rueidisLocker struct {
	clients locks.Clients
	life    *locks.Life

	mu   sync.Mutex // guards open, and that there is one client for each
	open map[rueidisKey]rueidislock.Locker
}

func (l *rueidisLocker) Acquire(ctx context.Context, key string, ttl time.Duration) (locks.Lease, error) {
	ttl, err := locks.CheckTTL(key, ttl)
	if err != nil {
		return nil, err
	}
	i := strings.LastIndex(key, rueidisInfix)
	if i < 0 {
		return nil, fmt.Errorf("acquire %q: %w: rueidislock's keys have the form prefix%sname", key, locks.ErrNotAcquired, rueidisInfix)
	}
	prefix, name := key[:i], key[i+len(rueidisInfix):]
	if ctx.Err() != nil {
		return nil, fmt.Errorf("acquire %q: %w: %w", key, locks.ErrNotAcquired, locks.Ended(ctx))
	}
	return l.life.Acquire(ctx, key, func(ctx context.Context) (locks.Lease, error) {
		k := rueidisKey{prefix, ttl}
		lib, err := l.locker(ctx, k)
		if err != nil {
			return nil, fmt.Errorf("acquire %q: %w: connect: %w", key, locks.ErrNotAcquired, err)
		}
		return rueidisAcquire(ctx, lib, k, name)
	})
}

// rueidisAcquire waits for the lock, rather more than a TTL at a time.
func rueidisAcquire(ctx context.Context, lib rueidislock.Locker, k rueidisKey, name string) (locks.Lease, error) {
	for {
		le, err := rueidisWait(ctx, lib, k.ttl, name)
		switch {
		case le != nil:
			return le, nil
		case ctx.Err() != nil:
			return nil, fmt.Errorf("acquire %q: outcome unknown: %w", name, locks.Ended(ctx))
		case !errors.Is(err, context.Canceled):
			return nil, fmt.Errorf("acquire %q: outcome unknown: %w", name, err)
		}
	}
}

// rueidisWait gives up after 1.6 of ttl, when a notice that the lock has expired is
// long there or won't come. That isn't a deadline of the library's context because
// that would shorten the lock. For the same reason the lock's context doesn't end
// with ctx: the purchase releases when it is over.
func rueidisWait(ctx context.Context, lib rueidislock.Locker, ttl time.Duration, name string) (locks.Lease, error) {
	waiting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	timer := time.AfterFunc(ttl*8/5, cancel)
	held, release, err := lib.WithContext(waiting, name)
	intact := stop()
	intact = timer.Stop() && intact
	if err != nil {
		cancel()
		return nil, err
	}
	if !intact { // the waiting was ended at the same moment, and the lock with it
		release()
		return nil, context.Canceled
	}
	le := &rueidisLease{lost: make(chan struct{}), release: func() {
		release()
		cancel()
	}}
	le.stop = context.AfterFunc(held, func() { close(le.lost) })
	return le, nil
}

func (l *rueidisLocker) locker(ctx context.Context, k rueidisKey) (rueidislock.Locker, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lib := l.open[k]; lib != nil {
		return lib, nil
	}
	px, noloop := rueidisFeatures(ctx, l.clients.Redis)
	o := rueidislock.LockerOption{
		KeyPrefix: k.prefix, KeyValidity: k.ttl, KeyMajority: 1, TryNextAfter: rueidisTry,
		FallbackSETPX: px, NoLoopTracking: noloop,
		ClientOption: rueidis.ClientOption{
			InitAddress: l.clients.Addrs,
			DialCtxFn: func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
				return l.clients.Dial(ctx, "tcp", addr)
			},
		},
	}
	if l.clients.Shape == cluster.Sentinel {
		o.ClientOption.Sentinel.MasterSet = cluster.MasterSet
	}
	lib, err := rueidislock.NewLocker(o)
	if err != nil {
		return nil, err
	}
	l.open[k] = lib
	return lib, nil
}

// rueidisFeatures says which of the options apply that the README ties to a
// version: SET PX in place of PXAT before 6.2, and NOLOOP since 7.0.5. Valkey
// tells the version of Redis that it is compatible with.
func rueidisFeatures(ctx context.Context, c redis.UniversalClient) (px, noloop bool) {
	text, err := c.Info(ctx, "server").Result()
	if err != nil {
		return false, false
	}
	_, rest, ok := strings.Cut(text, "redis_version:")
	if !ok {
		return false, false
	}
	var v [3]int
	if n, _ := fmt.Sscanf(rest, "%d.%d.%d", &v[0], &v[1], &v[2]); n < 2 {
		return false, false
	}
	return slices.Compare(v[:], []int{6, 2, 0}) < 0, slices.Compare(v[:], []int{7, 0, 5}) >= 0
}

// Close ends waiting, and then the library's lockers with what they hold.
func (l *rueidisLocker) Close() error {
	l.life.End()
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, lib := range l.open {
		lib.Close()
		delete(l.open, k)
	}
	return nil
}

type rueidisLease struct {
	release func()
	stop    func() bool
	lost    chan struct{}
}

// Lost is closed when the library has ended the lock's context by itself.
func (l *rueidisLease) Lost() <-chan struct{} { return l.lost }

// Release blocks until the library has removed its key, or given up on that. It
// doesn't say which.
func (l *rueidisLease) Release(ctx context.Context) error {
	l.stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.release()
	}()
	select {
	case <-done:
		return locks.ErrUntold
	case <-ctx.Done():
		return fmt.Errorf("release: %w", locks.Ended(ctx))
	}
}
