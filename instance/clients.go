package instance

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/locks"
)

// Dialer reaches a server by its announced address.
type Dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// portDialer dials the wire's loopback ports instead of the announced
// addresses, which needn't be reachable from here: sentinels answer with the
// address that their peers use.
func portDialer(s Start) Dialer {
	ports := map[string]string{}
	if s.Inventory.Announced != "" {
		ports[s.Inventory.Announced] = s.Inventory.Dial
	}
	for _, srv := range s.Servers {
		ports[srv.Announced] = srv.Dial
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		port, ok := ports[addr]
		if !ok {
			return nil, fmt.Errorf("dial %s: no server of this run is announced there", addr)
		}
		var d net.Dialer
		return d.DialContext(ctx, "tcp", port)
	}
}

// Time-outs of an instance's clients. They are longer than any hold that a
// scenario plays on purpose and shorter than a run's stall bound would be
// noticed without them.
const (
	dialTimeout = 2 * time.Second
	ioTimeout   = 3 * time.Second
)

// newClients opens the lock's clients. Retries are a choice: with MaxRetries
// above zero go-redis repeats a SET NX whose reply was lost, and then answers
// "not acquired" for a lock that is ours.
func newClients(s Start, dial Dialer) locks.Clients {
	c := locks.Clients{Shape: s.Shape, MasterSet: cmp.Or(s.MasterSet, cluster.MasterSet), Dial: dial}
	for _, srv := range s.Servers {
		switch s.Shape {
		case cluster.Sentinel:
			if srv.Role == cluster.RoleSentinel {
				c.Addrs = append(c.Addrs, srv.Announced)
			}
		case cluster.Quorum:
			c.Addrs = append(c.Addrs, srv.Announced)
			c.Masters = append(c.Masters, redis.NewClient(clientOptions(s, dial, srv.Announced)))
		default:
			c.Addrs = append(c.Addrs, srv.Announced)
			c.Redis = redis.NewClient(clientOptions(s, dial, srv.Announced))
		}
	}
	if s.Shape == cluster.Sentinel {
		c.Redis = redis.NewFailoverClient(failoverOptions(s, dial, c.Addrs))
	}
	return c
}

// poolSize gives every buyer a connection, and as many again to watchdogs.
func poolSize(s Start) int { return 2*len(s.Wants) + 4 }

func retries(s Start) int {
	if s.ClientRetries == 0 {
		return -1
	}
	return s.ClientRetries
}

func clientOptions(s Start, dial Dialer, addr string) *redis.Options {
	return &redis.Options{
		Addr: addr, Dialer: dial, Protocol: 3, DisableIdentity: true,
		MaxRetries: retries(s), DialerRetries: 1, PoolSize: poolSize(s),
		DialTimeout: dialTimeout, ReadTimeout: ioTimeout, WriteTimeout: ioTimeout,
		ContextTimeoutEnabled:    true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

func failoverOptions(s Start, dial Dialer, sentinels []string) *redis.FailoverOptions {
	return &redis.FailoverOptions{
		MasterName: cmp.Or(s.MasterSet, cluster.MasterSet), SentinelAddrs: sentinels,
		Dialer: dial, Protocol: 3, DisableIdentity: true,
		MaxRetries: retries(s), DialerRetries: 1, PoolSize: poolSize(s),
		DialTimeout: dialTimeout, ReadTimeout: ioTimeout, WriteTimeout: ioTimeout,
		ContextTimeoutEnabled: true,
	}
}

// InventoryClient opens a client of the inventory's server with enough
// connections for buyers, by whatever way dial reaches it.
func InventoryClient(addr string, dial Dialer, buyers int) *redis.Client {
	return redis.NewClient(clientOptions(Start{Wants: make([]int, buyers)}, dial, addr))
}

func closeClients(c locks.Clients) {
	if c.Redis != nil {
		_ = c.Redis.Close()
	}
	for _, m := range c.Masters {
		_ = m.Close()
	}
}

// ping returns once every client's server answers.
func ping(ctx context.Context, c locks.Clients) error {
	all := c.Masters
	if c.Redis != nil {
		all = append(all, c.Redis)
	}
	for i, r := range all {
		if err := r.Ping(ctx).Err(); err != nil {
			return fmt.Errorf("reach lock server %d through the wire: %w", i+1, err)
		}
	}
	return nil
}
