package explore

import (
	"context"
	"math/rand/v2"
	"net"
	"strconv"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/locks"
)

// newBuyer makes a buyer with clients that last for many schedules.
func (w *world) newBuyer(n int) *buyer {
	b := &buyer{w: w, n: n, conns: map[*conn]struct{}{}, lives: make(chan context.Context)}
	b.connect()
	go w.run(b)
	return b
}

// connect makes new clients.
func (b *buyer) connect() {
	b.clients = connect(b.w.c.Masters, b.dial)
	b.clients.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if b.w.isOver() {
			return nil, errOver
		}
		return b.dial(ctx, network, addr)
	}
}

// connect makes a buyer's clients, of one server or of several masters, which dial
// finds by their announced addresses.
func connect(masters int, dial func(ctx context.Context, network, addr string) (net.Conn, error)) locks.Clients {
	c := locks.Clients{Shape: cluster.Single, Dial: dial}
	for i := range max(1, masters) {
		addr := addrOf(i)
		client := redis.NewClient(&redis.Options{
			Addr: addr, Dialer: dial, Protocol: 3, DisableIdentity: true,
			MaxRetries: -1, DialerRetries: 1, PoolSize: 64, ReadTimeout: -1, WriteTimeout: -1,
			ReadBufferSize: 1024, WriteBufferSize: 1024, // connections come and go with schedules
			ContextTimeoutEnabled:    true,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		})
		c.Addrs = append(c.Addrs, addr)
		if masters > 0 {
			c.Shape, c.Masters = cluster.Quorum, append(c.Masters, client)
		} else {
			c.Redis = client
		}
	}
	return c
}

// disconnect closes them.
func disconnect(c locks.Clients) {
	if c.Redis != nil {
		_ = c.Redis.Close()
	}
	for _, m := range c.Masters {
		_ = m.Close()
	}
}

// serverAt is which server has an announced address; who makes up one gets the first.
func serverAt(addr string, servers int) int {
	for i := range servers {
		if addr == addrOf(i) {
			return i
		}
	}
	return 0
}

// dial reaches a server by its announced address.
func (b *buyer) dial(_ context.Context, _, addr string) (net.Conn, error) {
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	c := b.w.dial(b, serverAt(addr, len(b.w.servers)))
	if b.w.over { // an error here would be logged
		c.broken = errOver
	}
	b.conns[c] = struct{}{}
	return c, nil
}

// addrOf is announced as a server's address. It is numeric, so that a lock that
// dials it by itself finds nobody at once, without asking for a name.
func addrOf(server int) string { return nowhereHost + strconv.Itoa(1+server) }

const nowhereHost = "127.0.0.1:"

// source draws what depends on nothing but what its buyer has seen. A generator
// of the usual kind would remember how often it was asked, so that two states
// which are the same but for that would go on differently. Buyers draw nearly the
// same, and so pause as long as each other would in their place, unless the lock
// draws values that must not be another's.
type source struct {
	b     *buyer
	salt  uint64
	seen  view
	drawn uint64
}

// Uint64 implements rand.Source.
func (s *source) Uint64() uint64 {
	s.b.pause(s.salt & 0xff)
	s.b.w.mu.Lock()
	defer s.b.w.mu.Unlock()
	if seen := s.b.seen(); s.seen != seen {
		s.seen, s.drawn = seen, 0
	}
	s.drawn++
	v := s.seen.number(s.salt)
	if s.b.w.drawsValues {
		v = v.number(uint64(s.b.n))
	}
	return v.number(s.drawn).A ^ uint64(s.b.n)
}

func (b *buyer) rand(salt uint64) *rand.Rand {
	return rand.New(&source{b: b, salt: b.w.c.Seed<<8 | salt})
}
