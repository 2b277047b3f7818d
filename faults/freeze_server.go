package faults

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/result"
)

// FreezeServer stops the lock's server for some TTLs: it answers nobody, and
// its keys grow old. The holder's call goes on until others have sold after that.
type FreezeServer struct {
	TTLs  float64
	Sales int
}

// Name implements Fault.
func (FreezeServer) Name() string { return "freeze-server" }

// Summary implements Fault.
func (FreezeServer) Summary() string { return "the lock's server stands still and answers nobody" }

// Available implements Fault.
func (FreezeServer) Available(t Target) error {
	_, err := nodeAs[cluster.Pauser](t, "can be paused")
	return err
}

// Inject returns when the server answers again and others have sold.
func (f FreezeServer) Inject(ctx context.Context, t Target) (result.Evidence, Heal, error) {
	server, err := nodeAs[cluster.Pauser](t, "can be paused")
	if err != nil {
		return result.Evidence{}, nil, err
	}
	sales := t.watchSales(f.Sales)
	defer sales.Stop()
	started := t.History.Now()
	if err := server.Pause(ctx); err != nil {
		return result.Evidence{}, nil, fmt.Errorf("pause the server: %w", err)
	}
	span := time.Duration(f.TTLs * float64(t.Plan.TTL))
	waited := wait(ctx, span)
	if err := server.Resume(context.WithoutCancel(ctx)); err != nil {
		return result.Evidence{}, nil, fmt.Errorf("resume the server: %w", err)
	}
	took := t.History.Now() - started
	if waited != nil {
		return result.Evidence{}, nil, waited
	}
	sold, err := sales.within(ctx, span)
	if err != nil {
		return result.Evidence{}, nil, err
	}
	return proof(f, t, "%s stood still for %s, %.1f times the TTL of %s; %s", server.(cluster.Node).Name(),
		rounded(took), took.Seconds()/t.Plan.TTL.Seconds(), t.Plan.TTL, sold), nil, nil
}

// wait returns nil after d, or ctx's error.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// nodeAs returns the first node that holds locks, as something that not every
// node is.
func nodeAs[T any](t Target, what string) (T, error) {
	var zero T
	if t.Cluster == nil || len(t.Cluster.Nodes) == 0 {
		return zero, errors.New("it needs a server")
	}
	n, ok := t.Cluster.Nodes[0].(T)
	if !ok {
		return zero, fmt.Errorf("the %s backend has no server that %s", t.Cluster.Backend, what)
	}
	return n, nil
}
