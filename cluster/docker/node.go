package docker

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
)

// node is one server in its container.
type node struct {
	launch *launch
	index  int // which address it has in each network
	name   string
	role   cluster.Role
	port   int    // inside the container
	id     string // of the container; "" until it exists

	mu      sync.Mutex
	addr    string // where it was last published
	direct  string // a shorter way to the server, "" for none
	down    bool   // killed and not restarted
	version string
}

var (
	_ cluster.Node   = (*node)(nil)
	_ cluster.Killer = (*node)(nil)
	_ cluster.Pauser = (*node)(nil)
)

func newNode(l *launch, index int, p planned) *node {
	n := &node{launch: l, index: index, name: p.name, role: p.role, port: redisPort}
	if p.role == cluster.RoleSentinel {
		n.port = sentinelPort
	}
	return n
}

func (n *node) Name() string       { return n.name }
func (n *node) Role() cluster.Role { return n.role }

// ip is the node's address among clients and sentinels, in every life of it.
func (n *node) ip() string { return n.launch.clients.host(n.index).String() }

func (n *node) Announced() string { return net.JoinHostPort(n.ip(), strconv.Itoa(n.port)) }

func (n *node) Addr() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.addr
}

func (n *node) Version() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.version
}

func (n *node) Dial(ctx context.Context) (net.Conn, error) {
	n.mu.Lock()
	addr, down := cmp.Or(n.direct, n.addr), n.down
	n.mu.Unlock()
	if down || addr == "" {
		// The port may be another container's by now.
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: fmt.Errorf("%s is down: %w", n.name, syscall.ECONNREFUSED)}
	}
	return new(net.Dialer).DialContext(ctx, "tcp", addr)
}

// start starts the container and returns once the server in it answers.
func (n *node) start(ctx context.Context) error {
	api := n.launch.engine.api
	err := mutate(ctx, func(ctx context.Context) error {
		_, err := api.ContainerStart(ctx, n.id, client.ContainerStartOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("start container: %w", err)
	}
	if err := n.awaitReady(ctx); err != nil {
		return err
	}
	if n.role == cluster.RoleSentinel {
		if err := n.hurry(ctx); err != nil {
			return err
		}
	}
	info, err := askInfo(ctx, n, "server")
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.version = info.Version()
	n.mu.Unlock()
	return nil
}

// lookEvery is how often the engine is asked whether the server still runs:
// asking it costs this machine more than a PING does.
const lookEvery = 100 * time.Millisecond

// awaitReady finds out where the server is published now, and waits until it
// answers there. A server that ends instead is an error with its last words.
func (n *node) awaitReady(ctx context.Context) error {
	var port string
	var looked time.Time
	tried := false
	err := redisnode.Until(ctx, func(ctx context.Context) error {
		if port == "" || time.Since(looked) >= lookEvery {
			i, err := n.inspect(ctx)
			if err != nil {
				return err
			}
			if !i.State.Running {
				return redisnode.GiveUp(died(n.name, i.State.ExitCode, n.lastWords(ctx)))
			}
			if port = published(i, n.port); port == "" {
				return fmt.Errorf("%s has no published port yet", n.name)
			}
			looked = time.Now()
		}
		tried = true
		addr, err := n.launch.engine.answering(ctx, n, port)
		if err != nil {
			return err
		}
		direct := ""
		if n.role != cluster.RoleSentinel { // to those goes next to nothing
			direct = n.launch.engine.shortcut(ctx, n, addr)
		}
		n.mu.Lock()
		n.addr, n.direct, n.down = addr, direct, false
		n.mu.Unlock()
		return nil
	})
	if err != nil && tried && ctx.Err() != nil {
		return n.unreachable(ctx, err)
	}
	return err
}

func (n *node) inspect(ctx context.Context) (*container.InspectResponse, error) {
	r, err := n.launch.engine.api.ContainerInspect(ctx, n.id, client.ContainerInspectOptions{})
	if err != nil {
		return nil, fmt.Errorf("inspect container of %s: %w", n.name, err)
	}
	if r.Container.State == nil || r.Container.NetworkSettings == nil {
		return nil, fmt.Errorf("inspect container of %s: the engine's answer lacks its state", n.name)
	}
	return &r.Container, nil
}

// published returns the port of the host that leads to port, or "".
func published(i *container.InspectResponse, port int) string {
	for p, bindings := range i.NetworkSettings.Ports {
		if int(p.Num()) == port && p.Proto() == network.TCP && len(bindings) > 0 && bindings[0].HostPort != "0" {
			return bindings[0].HostPort
		}
	}
	return ""
}
