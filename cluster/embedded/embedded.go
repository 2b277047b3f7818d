// Package embedded runs a simulated server inside this process, for machines
// that have no real one. Nothing that it shows proves anything about Redis.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/alicebob/miniredis/v2"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/internal/hint"
)

// Name is the backend's name.
const Name = "embedded"

const module = "github.com/alicebob/miniredis/v2"

// Backend starts servers inside this process. Use New.
type Backend struct{}

// New returns the embedded backend.
func New() *Backend { return &Backend{} }

// Name implements cluster.Backend.
func (b *Backend) Name() string { return Name }

// Real implements cluster.Backend.
func (b *Backend) Real() bool { return false }

// Probe implements cluster.Backend. There is one simulated server, whatever
// version is asked for; results say which it was.
func (b *Backend) Probe(context.Context, string) (string, error) {
	return version() + " in this process", nil
}

// Supports implements cluster.Backend.
func (b *Backend) Supports(s cluster.Shape) error {
	switch s {
	case cluster.Single:
		return nil
	case cluster.Sentinel:
		return hint.Wrap(errors.New("the embedded backend can't simulate sentinels: nothing in it replicates, dies or gets promoted"),
			"use --backend docker or --backend process")
	default:
		return hint.Wrap(fmt.Errorf("the embedded backend has no shape %q", s),
			"use --backend docker or --backend process")
	}
}

// Start implements cluster.Backend.
func (b *Backend) Start(ctx context.Context, s cluster.Spec) (*cluster.Cluster, error) {
	if err := b.Supports(s.Shape); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start the embedded server: %w", err)
	}
	n := &node{server: miniredis.NewMiniRedis()}
	// Without this, keys only expire when told to: no lock would ever end.
	n.server.ClockTTL(true)
	if err := n.server.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("start the embedded server: %w", err)
	}
	if err := addCommands(n.server); err != nil {
		n.close()
		return nil, err
	}
	n.addr = n.server.Addr()
	return &cluster.Cluster{
		Backend: Name, Shape: s.Shape, Server: version(), Simulated: true,
		Nodes:   []cluster.Node{n},
		OnClose: func(context.Context) error { n.close(); return nil },
	}, nil
}

// node is the server. It is reached over a loopback port of its own, because
// the library's pipes hold no byte: a client that writes a long pipeline before
// it reads, and a server that answers before it has read all, would wait for
// each other for ever.
type node struct {
	server *miniredis.Miniredis
	addr   string
	once   sync.Once
}

func (n *node) Name() string       { return "redis" }
func (n *node) Role() cluster.Role { return cluster.RoleMaster }
func (n *node) Announced() string  { return n.addr } // unique, unlike a name would be

// Addr is empty: there is no process of its own to talk to.
func (n *node) Addr() string    { return "" }
func (n *node) Version() string { return version() }

// Logs is always empty: the server prints nothing.
func (n *node) Logs(context.Context, int) ([]string, error) { return nil, nil }

func (n *node) Dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", n.addr)
	if err != nil {
		return nil, fmt.Errorf("connect to redis: %w", err)
	}
	return conn, nil
}

// close ends every connection and waits for their goroutines.
func (n *node) close() { n.once.Do(n.server.Close) }

// version is that of the library in this build, e.g. "miniredis 2.40.0 (simulated)".
var version = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == module {
				return "miniredis " + strings.TrimPrefix(d.Version, "v") + " (simulated)"
			}
		}
	}
	return "miniredis (simulated)"
})
