package explore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/instance"
	"github.com/oversell/oversell/inventory"
	"github.com/oversell/oversell/locks"
)

// realStore is a buyer's way to the inventory.
type realStore struct {
	gated
	d     *desk
	buyer int
	got   *atomic.Bool // it has got the lock
}

func (s realStore) Begin(ctx context.Context, _ string) (int64, int, error) {
	if ctx.Err() != nil {
		return 0, 0, ctx.Err()
	}
	s.got.Store(true)
	m, err := s.d.hold(context.WithoutCancel(ctx), s.buyer, "begin")
	if err != nil {
		return 0, 0, err
	}
	s.d.mu.Lock()
	s.d.shelf.token++
	token, units := s.d.shelf.token, s.d.shelf.units
	s.d.mu.Unlock()
	s.d.finish(m, "reads stock: %d", units)
	return token, units, nil
}

func (s realStore) Commit(ctx context.Context, o inventory.Order, units int, fence bool) (int, error) {
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	m, err := s.d.hold(context.WithoutCancel(ctx), s.buyer, "commit")
	if err != nil {
		return 0, err
	}
	s.d.mu.Lock()
	sh := &s.d.shelf
	before := sh.units
	if fence && o.Token != sh.token {
		s.d.mu.Unlock()
		s.d.finish(m, "commit refused")
		return 0, inventory.ErrStaleToken
	}
	sh.units = units
	sh.orders = append(sh.orders, o)
	n := len(sh.orders)
	s.d.mu.Unlock()
	s.d.finish(m, "writes stock %d, order %d", units, n)
	return before, nil
}

// warm lets every buyer's scripts into the server's cache: schedules were found
// with them there. It says why a buyer couldn't buy with nobody in its way; "" when all
// could.
func (p *player) warm(ctx context.Context, buyers int) (why string, err error) {
	c := p.c
	c.Stock = buyers
	warm := *p
	warm.c = c
	warm.table.shelf.units = buyers
	for n := 1; n <= buyers; n++ {
		within, cancel := context.WithTimeout(ctx, p.patience())
		err := warm.buy(within, n, 20*time.Millisecond, false)
		cancel()
		if err != nil {
			return "", err
		}
		if p.table.orders() < n && ctx.Err() == nil {
			return fmt.Sprintf("the lock doesn't work there: with nobody else about, %s couldn't buy within %s", letter(n), p.patience()), nil
		}
	}
	p.table.mu.Lock()
	p.table.shelf = shelf{units: p.c.Stock}
	p.table.refused, p.table.said, p.table.owner = map[place][]string{}, map[int]string{}, map[string]int{}
	p.table.left = map[int]bool{}
	p.table.mu.Unlock()
	for _, s := range p.servers {
		if err := s.admin.FlushAll(ctx).Err(); err != nil {
			return "", err
		}
	}
	return "", nil
}

// begin starts the buyers, with everything held.
func (p *player) begin() {
	p.table.mu.Lock()
	p.table.free = false
	p.table.mu.Unlock()
	for n := 1; n <= p.c.Buyers; n++ {
		p.table.buyers.Go(func() { _ = p.buy(p.ctx, n, p.c.TTL/50, true) })
	}
}

// buy is the life of one buyer on the real server.
func (p *player) buy(ctx context.Context, n int, retry time.Duration, gatedCall bool) error {
	clients := connect(p.c.Masters, p.dialer(n))
	defer disconnect(clients)
	turns := turnstile{p: p, buyer: n, salt: saltOfLock, got: new(atomic.Bool), draw: rand.NewPCG(p.c.Seed, uint64(n))}
	made := p.table.make(n)
	l, err := p.c.Kind.New(ctx, clients, locks.Options{RetryEvery: retry, Rand: rand.New(turns)})
	made()
	if err != nil {
		return fmt.Errorf("make the lock %s: %w", p.c.Kind.Name, err)
	}
	defer func() { _ = l.Close() }()
	s := &instance.Shop{
		Instance: n, Locker: l, Store: realStore{d: p.table, buyer: n, got: turns.got}, Key: p.c.key(), SKU: sku,
		TTL: p.c.TTL, Fence: p.c.Kind.Fenced, Retry: retry,
		Record: func(history.Event) {},
		Call: func(ctx context.Context, _ instance.Call) error {
			if !gatedCall {
				return p.warmCall(ctx)
			}
			m, err := p.table.hold(ctx, n, "call")
			if err == nil {
				p.table.finish(m, "call returns")
			}
			return err
		},
	}
	turns.salt = saltOfShop
	s.Buy(ctx, 1, 1, rand.New(turns))
	p.table.mu.Lock()
	p.table.left[n] = ctx.Err() == nil
	p.table.mu.Unlock()
	return nil
}

// dialer is how a buyer reaches the servers, through the wire.
func (p *player) dialer(n int) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, _, addr string) (net.Conn, error) {
		node := p.servers[serverAt(addr, len(p.servers))].node
		l, number := p.table.connect(n)
		conn, err := p.wire.Dial(ctx, number, node.Name(), node.Dial)
		if err == nil {
			l.Conn = conn
			return l, nil
		}
		if p.ctx.Err() == nil {
			return nil, err
		}
		// The schedule has ended. The client would log the error.
		conn, other := net.Pipe()
		return conn, other.Close()
	}
}

// turnstile draws pauses. Where there are several masters it lets a buyer who draws one
// wait until it is its turn to ask again, as in the schedule.
type turnstile struct {
	p     *player
	buyer int
	salt  uint64
	got   *atomic.Bool // the lock: who draws then renews it
	draw  *rand.PCG
}

// Uint64 implements rand.Source.
func (t turnstile) Uint64() uint64 {
	if t.p.c.Masters > 0 && (t.salt != saltOfLock || !t.got.Load()) {
		t.got.Store(false)
		if m, err := t.p.table.hold(t.p.ctx, t.buyer, asks); err == nil {
			t.p.table.finish(m, "asks again")
		}
	}
	return t.draw.Uint64()
}

// warmCall lasts for as long as it takes a lock that renews to do so once, so that the
// server knows the script for that too.
func (p *player) warmCall(ctx context.Context) error {
	if !p.c.Kind.Renews {
		return nil
	}
	timer := time.NewTimer(p.c.TTL * 3 / 5)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
