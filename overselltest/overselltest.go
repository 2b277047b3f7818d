// Package overselltest lets the author of a lock find out, in an ordinary
// go test, whether it can sell more than there is.
//
// Explore tries every order in which the commands of a few buyers can reach the
// server, under chosen hazards, on a fake clock against a simulated server. It
// fails the test with the shortest order that oversells:
//
//	func TestLock(t *testing.T) {
//		overselltest.Explore(t, overselltest.Func(Lock), overselltest.Hazards("slow-call", "crash"))
//	}
//
// It leaves that order in a file below testdata, as fuzzing does. Replay plays such a
// file again, which makes it a test that the lock has been repaired; with OnServer it
// tells whether a real server confirms it.
//
// Run lets many buyers at the lock for a moment in real time instead, on a real
// server when there is a redis-server on PATH.
package overselltest

import (
	"context"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/internal/explore"
	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/locks"
)

// NewLock makes one instance's locker. It is called once for each buyer; what it
// returns may use only the clients, or the Dial, that it is given.
type NewLock func(ctx context.Context, c locks.Clients, opts locks.Options) (locks.Locker, error)

// Func makes a NewLock of a function that blocks until it has the lock, and
// returns what gives it back. Its error leaves the outcome unknown unless it
// wraps locks.ErrNotAcquired.
func Func(lock func(ctx context.Context, client redis.UniversalClient, key string, ttl time.Duration) (unlock func(context.Context) error, err error)) NewLock {
	return func(_ context.Context, c locks.Clients, _ locks.Options) (locks.Locker, error) {
		return funcLocker{c.Redis, lock}, nil
	}
}

type funcLocker struct {
	client redis.UniversalClient
	lock   func(context.Context, redis.UniversalClient, string, time.Duration) (func(context.Context) error, error)
}

func (l funcLocker) Acquire(ctx context.Context, key string, ttl time.Duration) (locks.Lease, error) {
	unlock, err := l.lock(ctx, l.client, key, ttl)
	if err != nil {
		return nil, err
	}
	return funcLease(unlock), nil
}

func (funcLocker) Close() error { return nil }

type funcLease func(context.Context) error

func (funcLease) Lost() <-chan struct{}               { return nil }
func (f funcLease) Release(ctx context.Context) error { return f(ctx) }

// Option changes how a lock is tried.
type Option func(*options)

type options struct {
	name    string
	hazards []string
	c       explore.Case
	bounds  explore.Bounds
	cfg     explore.Config
	allowed []explore.Property
	dir     string
	server  bool
	run     runOptions
}

// Hazards names what may go wrong, as oversell explore does: "slow-call",
// "crash", "delay", "expiry=2", ..., "all" or "none". The default is slow-call.
func Hazards(names ...string) Option { return func(o *options) { o.hazards = names } }

// Name is what the lock is called in messages; the default is the test's name.
func Name(name string) Option { return func(o *options) { o.name = name } }

// Buyers is how many buyers there are; the default is 2, and 50 in Run.
func Buyers(n int) Option { return func(o *options) { o.c.Buyers, o.run.buyers = n, n } }

// Masters is how many independent masters there are, from 3 to 5, for a lock that takes
// the majority of them: it finds them in Clients.Masters. Such a lock must draw each of
// its pauses between two attempts, and nothing else, from the Rand of its options: that
// is where it waits for its turn to ask again. For Explore.
func Masters(n int) Option { return func(o *options) { o.c.Masters = n } }

// Stock is how many units there are; the default is 1, and 20 in Run.
func Stock(n int) Option { return func(o *options) { o.c.Stock, o.run.stock = n, n } }

// TTL is that of the lock; the default is 2 s on the fake clock, and 300 ms in Run.
func TTL(d time.Duration) Option { return func(o *options) { o.c.TTL, o.run.ttl = d, d } }

// Faults bounds how often hazards strike in one schedule, all together. Without it there
// is no bound but each hazard's; with several masters and more than two hazards it is 1.
func Faults(n int) Option { return func(o *options) { o.bounds.Faults = &n } }

// Preemptions bounds how often a buyer that could go on is made to wait; less than 0 is
// no bound. Without it that is 1 with several masters and delay or expiry among the
// hazards, and with more than three masters; else 2 for more than two buyers, with
// several masters or more than two hazards; else there is no bound.
func Preemptions(n int) Option { return func(o *options) { o.bounds.Preemptions = &n } }

// Fenced says that purchases use the inventory's fence: it refuses the write of
// whoever was overtaken.
func Fenced() Option { return func(o *options) { o.c.Kind.Fenced = true } }

// Budget bounds the time that Explore takes; the default is 30 s. What isn't
// known by then fails the test.
func Budget(d time.Duration) Option { return func(o *options) { o.cfg.Budget = d } }

// Seed is that of pauses and of schedules drawn at random; the default is 1.
func Seed(n uint64) Option { return func(o *options) { o.c.Seed = n } }

// AllowForeignRelease accepts schedules in which a buyer removes another's lock
// without overselling.
func AllowForeignRelease() Option {
	return func(o *options) { o.allowed = append(o.allowed, explore.ForeignRelease) }
}

// AllowStalled accepts schedules in which a buyer waits for ever.
func AllowStalled() Option {
	return func(o *options) { o.allowed = append(o.allowed, explore.Stalled) }
}

// Dir is where Explore leaves the schedules that break the lock: testdata/oversell in
// the test's package unless told, and nowhere if path is empty.
func Dir(path string) Option { return func(o *options) { o.dir = path } }

func optionsOf(t *testing.T, newLock NewLock, opts []Option) *options {
	o := &options{
		name: t.Name(), hazards: []string{string(explore.SlowCall)},
		c:   explore.Case{Buyers: 2, Stock: 1, Seed: 1},
		cfg: explore.Config{T: t, Workers: runtime.GOMAXPROCS(0), Strategy: explore.Exhaustive, Budget: 30 * time.Second},
		dir: filepath.Join("testdata", "oversell"),
		run: runOptions{buyers: 50, stock: 20, ttl: 300 * time.Millisecond},
	}
	for _, opt := range opts {
		opt(o)
	}
	o.c.Kind.Name = o.name
	o.c.Kind.Summary = "the lock under test"
	o.c.Kind.Topologies = []cluster.Shape{o.c.Shape()}
	o.c.Kind.New = newLock
	return o
}

// Explore fails the test when any schedule breaks a property, with the shortest
// that does, and when not all schedules could be accounted for.
func Explore(t *testing.T, newLock NewLock, opts ...Option) {
	t.Helper()
	o := optionsOf(t, newLock, opts)
	var err error
	if o.c.Hazards, err = explore.ParseHazards(o.hazards); err != nil {
		t.Fatalf("overselltest: %v; the hazards are %s", err, strings.Join(explore.HazardWords(), ", "))
	}
	if o.c.Masters == 0 && o.bounds.Faults == nil {
		o.bounds.Faults = new(int)
	}
	r, err := explore.Explore(t.Context(), o.c.Within(o.bounds), o.cfg)
	if err != nil {
		fatal(t, err)
	}
	for _, x := range r.Found {
		if o.allows(x.Property) {
			continue
		}
		t.Errorf("%s: %s in %.0f of %.0f schedules; the shortest has %d events:\n\n%s%s",
			o.name, x.Property, r.Counts.Of(x.Property), r.Counts.All, len(x.Steps), tell(x), o.save(t, x))
		break
	}
	if !r.Complete {
		t.Errorf("%s: %s after %d schedules: nothing is proven; give it a larger Budget, fewer Hazards or a bound of Faults", o.name, r.Why, r.Runs)
	}
}

// fatal ends the test with an error, and what helps against it.
func fatal(t *testing.T, err error) {
	t.Helper()
	if h := hint.Of(err); h != "" {
		t.Fatalf("overselltest: %v\n%s", err, h)
	}
	t.Fatalf("overselltest: %v", err)
}

func (o *options) allows(p explore.Property) bool {
	for _, a := range o.allowed {
		if a == p {
			return true
		}
	}
	return false
}

// tell is a counterexample in lines.
func tell(x *explore.Counterexample) string {
	var b strings.Builder
	for _, st := range x.Steps {
		who := st.Buyer
		if who == "" {
			who = " "
		}
		b.WriteString("  " + who + "  " + st.Text + "  [key " + st.Key + "]\n")
	}
	b.WriteString("\n")
	for _, line := range x.Tale {
		b.WriteString("  " + line + "\n")
	}
	return b.String()
}
