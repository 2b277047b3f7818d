package explore

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/instance"
	"github.com/oversell/oversell/inventory"
	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/wire"
)

// loseTheReply is beyond wire's own actions: the command passes and the
// connection is cut before the reply.
const loseTheReply wire.Action = -1

// message is what a buyer has sent to the real server and what is held, or a
// step of its purchase.
type message struct {
	buyer   int
	command string
	release chan wire.Action
	again   bool // its buyer was refused the same before
	done    bool
	said    string
}

// desk is where everything that buyers send lies until it is let go. Safe for
// concurrent use.
type desk struct {
	c       Case
	mu      sync.Mutex
	wake    chan struct{}
	free    bool // everything passes
	lying   []*message
	passing map[int64]*message // let go and not answered, by the exchange's number
	refused map[int]string     // the command that each buyer was refused last
	said    map[int]string
	crashed map[int]bool
	owner   int
	removed bool // a key that was another's
	shelf   shelf
	left    map[int]bool
	buyers  sync.WaitGroup
}

func newDesk(c Case) *desk {
	return &desk{
		c: c, wake: make(chan struct{}, 1), free: true, passing: map[int64]*message{}, refused: map[int]string{},
		said: map[int]string{}, crashed: map[int]bool{}, left: map[int]bool{}, shelf: shelf{units: c.Stock},
	}
}

func (d *desk) signal() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

func (d *desk) sleep(ctx context.Context, t time.Duration) {
	timer := time.NewTimer(t)
	defer timer.Stop()
	select {
	case <-d.wake:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// handle is the wire's handler.
func (d *desk) handle(ctx context.Context, at wire.Point, x *wire.Exchange) wire.Action {
	if passes(x.Name) || x.Name == "SCRIPT" {
		return wire.Pass
	}
	if at == wire.OnReply {
		return d.replied(x)
	}
	d.mu.Lock()
	if d.free {
		d.mu.Unlock()
		return wire.Pass
	}
	m := &message{buyer: x.Instance, command: x.Name, release: make(chan wire.Action, 1)}
	m.again = d.refused[x.Instance] == x.Name
	d.lying = append(d.lying, m)
	d.mu.Unlock()
	d.signal()
	var a wire.Action
	select {
	case a = <-m.release:
	case <-ctx.Done():
		return wire.Cut
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if a == wire.Cut {
		m.done = true
		return wire.Cut
	}
	if a == loseTheReply {
		m.said = "reply lost"
	}
	d.passing[x.Seq] = m
	return wire.Pass
}

// replied notes an answer.
func (d *desk) replied(x *wire.Exchange) wire.Action {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := d.passing[x.Seq]
	if m == nil {
		return wire.Pass
	}
	delete(d.passing, x.Seq)
	defer d.signal()
	lost := m.said != ""
	m.done = true
	m.said = x.Name + " → " + x.Reply.Text
	d.said[m.buyer] = m.said
	d.judge(x)
	if lost {
		return wire.Cut
	}
	if x.Reply.Err && strings.HasPrefix(x.Reply.Text, "NOSCRIPT") {
		m.done = false // the client asks again with the text, which belongs to the same step
		m.command = "EVAL"
		d.refused[m.buyer] = "NOSCRIPT"
	}
	return wire.Pass
}

// judge keeps track of whose the key is.
func (d *desk) judge(x *wire.Exchange) {
	granted := x.Reply.Granted()
	if granted {
		delete(d.refused, x.Instance)
	} else {
		d.refused[x.Instance] = x.Name
	}
	switch {
	case x.Role == wire.Acquire && granted:
		d.owner = x.Instance
	case x.Role == wire.Release && granted:
		d.removed = d.removed || d.owner != 0 && d.owner != x.Instance
		d.owner = 0
	}
}

// take finds what a buyer has sent.
func (d *desk) take(buyer int, command string) *message {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.IndexFunc(d.lying, func(m *message) bool {
		return m.buyer == buyer && (m.command == command || isScript(m.command) && isScript(command))
	})
	if i < 0 {
		return nil
	}
	m := d.lying[i]
	d.lying = slices.Delete(d.lying, i, i+1)
	return m
}

func isScript(name string) bool { return name == "EVAL" || name == "EVALSHA" }

// answered reports whether a message has had its effect. A script that the
// server didn't know comes a second time, with its text.
func (d *desk) answered(m *message) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m.done || d.refused[m.buyer] != "NOSCRIPT" {
		return m.done
	}
	i := slices.IndexFunc(d.lying, func(o *message) bool { return o.buyer == m.buyer && o.command == "EVAL" })
	if i < 0 {
		return false
	}
	o := d.lying[i]
	d.lying = slices.Delete(d.lying, i, i+1)
	delete(d.refused, m.buyer)
	m.done = true
	o.release <- wire.Pass
	return true
}

// refuseAgain lets those go who were refused the same before.
func (d *desk) refuseAgain() { d.let(func(m *message) bool { return m.again }) }

// letAllGo lets go whatever lies here.
func (d *desk) letAllGo() { d.let(func(m *message) bool { return !d.crashed[m.buyer] }) }

func (d *desk) let(which func(*message) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lying = slices.DeleteFunc(d.lying, func(m *message) bool {
		if !which(m) {
			return false
		}
		m.release <- wire.Pass
		return true
	})
}

// open lets everything pass from now on.
func (d *desk) open() {
	d.mu.Lock()
	d.free = true
	lying := d.lying
	d.lying = nil
	d.mu.Unlock()
	for _, m := range lying {
		m.release <- wire.Cut
	}
}

func (d *desk) crash(buyer int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.crashed[buyer] = true
}

func (d *desk) wait() { d.buyers.Wait() }

func (d *desk) orders() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.shelf.orders)
}

func (d *desk) units() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shelf.units
}

func (d *desk) foreign() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.removed
}

func (d *desk) anybodyWaits() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for n := 1; n <= d.c.Buyers; n++ {
		if !d.crashed[n] && !d.left[n] {
			return true
		}
	}
	return false
}

func (d *desk) lastSaid(buyer int) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.said[buyer]
}

func (d *desk) describe() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return describeMessages(d.lying)
}

// hold puts a step of a purchase on the desk, and returns when it is let go.
func (d *desk) hold(ctx context.Context, buyer int, command string) (*message, error) {
	m := &message{buyer: buyer, command: command, release: make(chan wire.Action, 1)}
	d.mu.Lock()
	if d.free {
		d.mu.Unlock()
		return m, nil
	}
	d.lying = append(d.lying, m)
	d.mu.Unlock()
	d.signal()
	select {
	case a := <-m.release:
		if a == wire.Cut {
			return m, errOver
		}
		return m, nil
	case <-ctx.Done():
		d.mu.Lock()
		defer d.mu.Unlock()
		d.lying = slices.DeleteFunc(d.lying, func(o *message) bool { return o == m })
		return m, ctx.Err()
	}
}

func (d *desk) finish(m *message, format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m.done = true
	d.said[m.buyer] = fmt.Sprintf(format, args...)
	d.signal()
}

// realStore is a buyer's way to the inventory.
type realStore struct {
	gated
	d     *desk
	buyer int
}

func (s realStore) Begin(ctx context.Context, _ string) (int64, int, error) {
	if ctx.Err() != nil {
		return 0, 0, ctx.Err()
	}
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
// with them there.
func (p *player) warm(ctx context.Context, buyers int) error {
	c := p.c
	c.Stock = buyers
	warm := *p
	warm.c = c
	warm.table.shelf.units = buyers
	for n := 1; n <= buyers; n++ {
		if err := warm.buy(ctx, n, 20*time.Millisecond, false); err != nil {
			return err
		}
	}
	p.table.mu.Lock()
	p.table.shelf = shelf{units: p.c.Stock}
	p.table.refused, p.table.said = map[int]string{}, map[int]string{}
	p.table.left = map[int]bool{}
	p.table.mu.Unlock()
	return p.admin.FlushAll(ctx).Err()
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
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := p.wire.Dial(ctx, n, p.node.Name(), p.node.Dial)
		if err == nil || p.ctx.Err() == nil {
			return conn, err
		}
		// The schedule has ended. The client would log the error.
		conn, other := net.Pipe()
		return conn, other.Close()
	}
	client := redis.NewClient(&redis.Options{
		Addr: addrOf(0), Dialer: dial, Protocol: 3, DisableIdentity: true,
		MaxRetries: -1, DialerRetries: 1, PoolSize: 64, ReadTimeout: -1, WriteTimeout: -1,
		ContextTimeoutEnabled:    true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	defer client.Close()
	clients := locks.Clients{Shape: cluster.Single, Redis: client, Dial: dial, Addrs: []string{addrOf(0)}}
	l, err := p.c.Kind.New(ctx, clients, locks.Options{RetryEvery: retry})
	if err != nil {
		return fmt.Errorf("make the lock %s: %w", p.c.Kind.Name, err)
	}
	defer func() { _ = l.Close() }()
	b := &buyer{w: &world{c: p.c}, n: n}
	s := &instance.Shop{
		Instance: n, Locker: l, Store: realStore{d: p.table, buyer: n}, Key: p.c.key(), SKU: sku,
		TTL: p.c.TTL, Fence: p.c.Kind.Fenced, Retry: retry,
		Record: func(history.Event) {},
		Call: func(ctx context.Context, _ instance.Call) error {
			if !gatedCall {
				return nil
			}
			m, err := p.table.hold(ctx, n, "call")
			if err == nil {
				p.table.finish(m, "call returns")
			}
			return err
		},
	}
	s.Buy(ctx, 1, 1, b.rand(2))
	p.table.mu.Lock()
	p.table.left[n] = ctx.Err() == nil
	p.table.mu.Unlock()
	return nil
}
