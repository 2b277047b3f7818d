// Package process runs clusters of redis-server or valkey-server processes
// from PATH: on loopback ports, in temporary folders, without persistence.
// They die with this process, however it dies.
package process

import (
	"context"
	"fmt"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/internal/folder"
)

// Name is the backend's name.
const Name = "process"

// Backend starts clusters of OS processes. Use New.
type Backend struct{}

// New returns the process backend. Many runs, of this process and of others,
// can use it at once.
func New() *Backend { return &Backend{} }

// Name implements cluster.Backend.
func (b *Backend) Name() string { return Name }

// Real implements cluster.Backend.
func (b *Backend) Real() bool { return true }

// Probe implements cluster.Backend. The version "" accepts whatever is on PATH.
func (b *Backend) Probe(ctx context.Context, version string) (string, error) {
	bin, err := find(ctx, version)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s at %s", bin, bin.path), nil
}

// Supports implements cluster.Backend.
func (b *Backend) Supports(s cluster.Shape) error {
	switch s {
	case cluster.Single, cluster.Sentinel, cluster.Quorum:
		return nil
	default:
		return fmt.Errorf("the %s backend has no shape %q", Name, s)
	}
}

// Start implements cluster.Backend. As with Probe, the version "" accepts
// whatever is on PATH.
func (b *Backend) Start(ctx context.Context, spec cluster.Spec) (*cluster.Cluster, error) {
	if err := b.Supports(spec.Shape); err != nil {
		return nil, err
	}
	bin, err := find(ctx, spec.Version)
	if err != nil {
		return nil, err
	}
	dir, err := folder.New("", spec.Run, spec.Name)
	if err != nil {
		return nil, err
	}
	s := &servers{spec: spec, bin: bin, folder: dir}
	c := &cluster.Cluster{Backend: Name, Shape: spec.Shape, Server: bin.String(), OnClose: s.close}
	err = s.start(ctx)
	c.Nodes = s.nodes()
	return c, err
}
