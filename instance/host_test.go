package instance_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/instance"
	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/inventory"
	"github.com/oversell/oversell/inventory/redisstore"
	"github.com/oversell/oversell/locks"
)

// asInstance makes this test binary an instance process.
const asInstance = "OVERSELL_TEST_INSTANCE"

func TestMain(m *testing.M) {
	if os.Getenv(asInstance) != "" {
		if err := instance.Main(context.Background(), os.Stdin, os.Stdout, world()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Setenv(asInstance, "1") // inherited by the processes that the tests start
	goleak.VerifyTestMain(m)
}

func world() instance.World {
	kind := locks.Kind{
		Name: "plain", Topologies: []cluster.Shape{cluster.Single},
		New: func(_ context.Context, c locks.Clients, o locks.Options) (locks.Locker, error) {
			return &plain{c.Redis, o.RetryEvery}, nil
		},
	}
	open := func(_ context.Context, at instance.Inventory, dial instance.Dialer, buyers int) (inventory.Store, error) {
		return redisstore.New(instance.InventoryClient(at.Announced, dial, buyers)), nil
	}
	return instance.World{Kinds: []locks.Kind{kind}, Open: open}
}

// plain is SET NX and DEL: enough of a lock to sell under while calls are short.
type plain struct {
	r     redis.UniversalClient
	every time.Duration
}

func (p *plain) Acquire(ctx context.Context, key string, ttl time.Duration) (locks.Lease, error) {
	for {
		ok, err := p.r.SetNX(ctx, key, "x", ttl).Result()
		if err != nil {
			return nil, err
		}
		if ok {
			return &plainLease{p.r, key}, nil
		}
		select {
		case <-time.After(p.every):
		case <-ctx.Done():
			return nil, locks.ErrNotAcquired
		}
	}
}

func (p *plain) Close() error { return nil }

type plainLease struct {
	r   redis.UniversalClient
	key string
}

func (l *plainLease) Lost() <-chan struct{}             { return nil }
func (l *plainLease) Release(ctx context.Context) error { return l.r.Del(ctx, l.key).Err() }

// stand is a miniredis for the lock and one for the inventory.
type stand struct {
	lock, inventory *miniredis.Miniredis
	store           inventory.Store
	rec             *log
	calls           atomic.Int64
}

func newStand(t *testing.T, units int) *stand {
	s := &stand{lock: miniredis.RunT(t), inventory: miniredis.RunT(t), rec: &log{}}
	client := redis.NewClient(&redis.Options{Addr: s.inventory.Addr()})
	t.Cleanup(func() { client.Close() })
	s.store = redisstore.New(client)
	require.NoError(t, s.store.Reset(t.Context(), "sku", units))
	return s
}

func (s *stand) start(id int, wants ...int) instance.Start {
	return instance.Start{
		Instance: id, Epoch: history.Monotonic(), Lock: "plain", Key: "lock", SKU: "sku",
		TTL: 10 * time.Second, RetryEvery: time.Millisecond, StallOver: time.Minute, Wants: wants,
		Shape:   cluster.Single,
		Servers: []instance.Server{{Name: "redis", Role: cluster.RoleMaster, Announced: s.lock.Addr(), Dial: s.lock.Addr()}},
		Inventory: instance.Inventory{
			Driver: inventory.Redis,
			Server: instance.Server{Name: "inventory", Announced: s.inventory.Addr(), Dial: s.inventory.Addr()},
		},
	}
}

func (s *stand) desk() instance.Desk {
	return instance.Desk{
		Event: s.rec.record,
		Call:  func(context.Context, instance.Call) { s.calls.Add(1) },
	}
}

func tcp(ctx context.Context, _, addr string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", addr)
}

// hosts starts an instance as goroutines and one as a process.
var hosts = map[string]func(s instance.Start, desk instance.Desk) (*instance.Host, error){
	"goroutines": func(s instance.Start, desk instance.Desk) (*instance.Host, error) {
		return instance.StartLocal(s, world(), tcp, desk), nil
	},
	"process": func(s instance.Start, desk instance.Desk) (*instance.Host, error) {
		self, err := instance.Self()
		if err != nil {
			return nil, err
		}
		return instance.StartProcess(s, self, desk)
	},
}

func TestInstancesSellOutTogether(t *testing.T) {
	for name, start := range hosts {
		t.Run(name, func(t *testing.T) {
			s := newStand(t, 10)
			var list []*instance.Host
			for i := range 3 {
				h, err := start(s.start(i+1, 1, 2, 3), s.desk())
				require.NoError(t, err)
				list = append(list, h)
			}
			for _, h := range list {
				require.NoError(t, h.Ready(t.Context()))
			}
			for _, h := range list {
				h.Go()
			}
			for _, h := range list {
				<-h.Done()
			}
			var wg sync.WaitGroup
			for _, h := range list {
				wg.Go(func() { h.Stop(t.Context()) })
			}
			wg.Wait()

			units, err := s.store.Units(t.Context(), "sku")
			require.NoError(t, err)
			orders, err := s.store.Orders(t.Context(), "sku")
			require.NoError(t, err)
			require.Equal(t, 0, units)
			require.Len(t, orders, 10)
			require.EqualValues(t, 10, s.calls.Load(), "one business call an order")
			require.Equal(t, 10, s.rec.count(history.Committed))
			require.Equal(t, 9, s.rec.count(history.BuyerDone))
			require.Empty(t, s.lock.Keys(), "every release arrived")
		})
	}
}

func (l *log) count(k history.Kind) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, e := range l.events {
		if e.Kind == k {
			n++
		}
	}
	return n
}

func TestInstanceThatCantReachItsServersSaysSo(t *testing.T) {
	for name, start := range hosts {
		t.Run(name, func(t *testing.T) {
			s := newStand(t, 1)
			st := s.start(1, 1)
			s.lock.Close()
			h, err := start(st, s.desk())
			require.NoError(t, err)
			require.ErrorContains(t, h.Ready(t.Context()), "reach lock server 1")
			h.Stop(t.Context())
		})
	}
}

func TestUnknownLockKindIsAnError(t *testing.T) {
	s := newStand(t, 1)
	st := s.start(1, 1)
	st.Lock = "nonesuch"
	h := instance.StartLocal(st, world(), tcp, s.desk())
	require.ErrorContains(t, h.Ready(t.Context()), `"nonesuch"`)
	h.Stop(t.Context())
}

func TestStopInterruptsABusinessCall(t *testing.T) {
	for name, start := range hosts {
		t.Run(name, func(t *testing.T) {
			s := newStand(t, 1)
			begun := make(chan struct{})
			desk := s.desk()
			desk.Call = func(ctx context.Context, _ instance.Call) {
				close(begun)
				<-ctx.Done()
			}
			h, err := start(s.start(1, 1), desk)
			require.NoError(t, err)
			require.NoError(t, h.Ready(t.Context()))
			h.Go()
			<-begun
			h.Stop(t.Context())
			require.Equal(t, 1, s.rec.count(history.Abandoned))
			require.Empty(t, s.lock.Keys(), "the lock was released on the way out")
		})
	}
}

func TestKillEndsTheProcessInTheMiddleOfACall(t *testing.T) {
	s := newStand(t, 5)
	begun := make(chan struct{})
	desk := s.desk()
	desk.Call = func(ctx context.Context, _ instance.Call) {
		close(begun)
		<-ctx.Done()
	}
	h, err := hosts["process"](s.start(1, 1), desk)
	require.NoError(t, err)
	require.True(t, h.Real())
	require.NoError(t, h.Ready(t.Context()))
	h.Go()
	<-begun
	how, err := h.Kill(t.Context())
	require.NoError(t, err)
	require.Contains(t, how, "signal: killed")
	require.Contains(t, how, fmt.Sprint(h.PID()))
	<-h.Done()
	<-h.Ended()
	require.Equal(t, how, h.How())
	h.Stop(t.Context())
	require.Equal(t, []string{"lock"}, s.lock.Keys(), "nobody released it")
}

func TestGoroutinesCantBeKilled(t *testing.T) {
	s := newStand(t, 1)
	h := instance.StartLocal(s.start(1, 1), world(), tcp, s.desk())
	defer h.Stop(t.Context())
	require.False(t, h.Real())
	_, err := h.Kill(t.Context())
	require.ErrorContains(t, err, "needs real processes")
	require.NoError(t, h.Ready(t.Context()), "it is still alive")
}

func TestProcessThatIsNoInstance(t *testing.T) {
	s := newStand(t, 1)
	h, err := instance.StartProcess(s.start(1, 1), []string{"/bin/sh", "-c", "echo no such command >&2; exit 7"}, s.desk())
	require.NoError(t, err)
	require.ErrorContains(t, h.Ready(t.Context()), "ended before it was ready")
	<-h.Ended()
	require.Contains(t, h.How(), "exit status 7")
	require.Contains(t, h.How(), "no such command")
	h.Stop(t.Context())
}

func TestAFailedStartKeepsItsHint(t *testing.T) {
	s := newStand(t, 1)
	w := world()
	w.Open = func(context.Context, instance.Inventory, instance.Dialer, int) (inventory.Store, error) {
		return nil, hint.Wrap(errors.New("too many clients"), "ask for fewer")
	}
	h := instance.StartLocal(s.start(1, 1), w, nil, s.desk())
	defer h.Stop(t.Context())
	err := h.Ready(t.Context())
	require.ErrorContains(t, err, "open the inventory: too many clients")
	require.Equal(t, "ask for fewer", hint.Of(err))
}
