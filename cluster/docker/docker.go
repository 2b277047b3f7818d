// Package docker starts clusters in containers, by testcontainers-go.
//
// Servers are published on 127.0.0.1 only, and reached without that detour where
// this machine sees their network. Each cluster has a network of its
// own for clients and sentinels; the sentinel shape has a second one for
// replication, so that replication can be cut while everyone else stays
// connected. Every container and network carries labels that say which
// invocation owns it, so what a killed invocation left behind can be told from
// what a living one uses (see Clean).
package docker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/oversell/oversell/cluster"
)

// Backend starts clusters on the Docker engine that DOCKER_HOST, or else the
// usual sockets, lead to. Make it with New. Safe for concurrent use.
type Backend struct {
	mu     sync.Mutex
	engine *engine

	// crowd lets clusters of several servers start one after the other: all at
	// once they keep a small machine busy until the last is there, and none can
	// be used before.
	crowd *semaphore.Weighted

	// serverArgs are added to every server's command line.
	serverArgs []string
}

var _ cluster.Backend = (*Backend)(nil)

// New makes a backend. It doesn't touch Docker yet.
func New() *Backend { return &Backend{crowd: semaphore.NewWeighted(1)} }

// Name returns "docker".
func (b *Backend) Name() string { return "docker" }

// Real returns true.
func (b *Backend) Real() bool { return true }

// Supports returns nil for every shape that exists.
func (b *Backend) Supports(s cluster.Shape) error {
	if _, err := plan(s); err != nil {
		return err
	}
	return nil
}

// probeTimeout bounds Probe.
const probeTimeout = 2 * time.Second

// Probe says which engine and which image would be used. An image that isn't
// here counts when a registry says within the time that it can be pulled.
func (b *Backend) Probe(ctx context.Context, version string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	e, err := b.connect(ctx)
	if err != nil {
		return "", err
	}
	defer e.idle()
	image, err := e.localImage(ctx, version)
	if err != nil {
		return "", err
	}
	if image != "" {
		return fmt.Sprintf("%s, image %s", e.product, image), nil
	}
	image, err = e.pullable(ctx, version)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, image %s (to be pulled)", e.product, image), nil
}

// Start starts the servers of s. After an error nothing is left, unless
// removing it failed too: then the cluster isn't nil and its Close tries again.
func (b *Backend) Start(ctx context.Context, s cluster.Spec) (*cluster.Cluster, error) {
	roles, err := plan(s.Shape)
	if err != nil {
		return nil, err
	}
	e, err := b.connect(ctx)
	if err != nil {
		return nil, err
	}
	image, err := e.provideImage(ctx, s.Version)
	if err != nil {
		e.idle()
		return nil, err
	}
	if len(roles) > 1 {
		if err := b.crowd.Acquire(ctx, 1); err != nil {
			e.idle()
			return nil, err
		}
		defer b.crowd.Release(1)
	}
	l := newLaunch(e, s, image, b.serverArgs)
	c := &cluster.Cluster{Backend: b.Name(), Shape: s.Shape, OnClose: l.close}
	if s.Shape == cluster.Sentinel {
		c.OnRenew = l.renew
	}
	if err := l.run(ctx, roles); err != nil {
		err = fmt.Errorf("start %s cluster %s: %w", s.Shape, s.Name, explain(err))
		if cerr := l.close(ctx); cerr != nil {
			return c, fmt.Errorf("%w (and cleaning up: %v)", err, cerr)
		}
		return nil, err
	}
	c.Nodes = l.clusterNodes()
	c.Server = c.Nodes[0].Version()
	return c, nil
}

// connect returns the engine, connecting to it on first use. A failure isn't
// remembered.
func (b *Backend) connect(ctx context.Context) (*engine, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.engine != nil {
		return b.engine, nil
	}
	e, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	b.engine = e
	return e, nil
}
