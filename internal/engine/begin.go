package engine

import (
	"context"
	"fmt"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/instance"
	"github.com/oversell/oversell/wire"
)

// begin starts the servers, the wire and the instances, and returns when all
// buyers wait for the load to start.
func (r *run) begin(ctx context.Context) error {
	if err := r.startServers(ctx); err != nil {
		return err
	}
	if err := r.store.Reset(ctx, r.plan.SKU, r.plan.Stock); err != nil {
		return fmt.Errorf("fill the inventory: %w", err)
	}
	r.health(ctx, "before")
	var stage *stage
	rules := &wire.Rules{}
	w := wire.New(r.rec.Now, r.onWire, rules.Handle, func(ctx context.Context, p wire.Point, x *wire.Exchange) wire.Action {
		return stage.onWire(ctx, p, x)
	})
	stage = newStage(ctx, r.job.Scenario.Steps, faults.Target{
		Plan: r.plan, Cluster: r.lock, Real: r.e.cfg.Backend.Real(), Wire: w, Rules: rules, History: r.rec, Store: r.store,
	}, r.hosts.find, r.e.cfg.Disable)
	r.wire, r.stage = w, stage
	if err := stage.available(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return r.startInstances(ctx)
}

// startServers starts the lock's servers, and the inventory's unless an
// earlier run did.
func (r *run) startServers(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return r.startLock(gctx) })
	g.Go(func() (err error) {
		r.store, err = r.e.openInventory(gctx)
		return err
	})
	if err := g.Wait(); err != nil {
		return err
	}
	r.info = newSampler(r.rec, r.lock)
	r.plan.Server, r.plan.Simulated = r.lock.Server, r.lock.Simulated
	if r.lock.Shape == cluster.Quorum {
		r.plan.Masters = len(r.lock.Nodes)
	}
	if r.lock.KeyPrefix != "" {
		r.plan.Key = keyOf(r.job.Kind, r.lock.KeyPrefix, r.plan.Scenario)
	}
	if r.e.inventory.place != nil {
		r.plan.InventoryServer = r.e.inventory.place.Server
	}
	planned := r.plan
	r.rec.Record(history.Event{Kind: history.RunPlanned, Plan: &planned})
	return history.WritePlan(r.dir, r.plan)
}

// startLock starts the lock's servers, or takes those that an earlier run has
// left as it found them. Only a run that spares them, too, gets such ones.
func (r *run) startLock(ctx context.Context) (err error) {
	spec := cluster.Spec{
		Run: r.e.cfg.Run, Name: "lock-" + filepath.Base(r.dir), Shape: r.job.Scenario.Shape,
		Version: r.e.version(r.job), LogDir: filepath.Join(r.dir, "servers"),
	}
	if r.sparing() {
		if r.lock = r.e.idle.take(spec.Version, spec.Shape); r.lock != nil {
			return nil
		}
	}
	if r.lock, err = r.e.cfg.Backend.Start(ctx, spec); err != nil {
		return fmt.Errorf("start the lock's servers: %w", err)
	}
	return nil
}

// startInstances starts every instance and waits until all are ready.
func (r *run) startInstances(ctx context.Context) error {
	for i, w := range wants(r.job.Scenario.Load) {
		s, dial, err := r.connect(i+1, w)
		if err != nil {
			return err
		}
		h, err := r.spawn(s, dial)
		if err != nil {
			return err
		}
		r.hosts.add(h)
		r.exits.Go(func() { r.noteExit(h) })
	}
	for _, h := range r.hosts.all() {
		if err := h.Ready(ctx); err != nil {
			return fmt.Errorf("start the instances: %w", err)
		}
	}
	return nil
}

// spawn starts one instance as a process, or as goroutines where the servers
// live in this process too.
func (r *run) spawn(s instance.Start, dial instance.Dialer) (*instance.Host, error) {
	desk := instance.Desk{
		Event: r.hear,
		Call:  r.stage.onCall,
	}
	if !r.e.cfg.Backend.Real() {
		h := instance.StartLocal(s, r.e.cfg.World, dial, desk)
		r.rec.Record(history.Event{Kind: history.InstanceStarted, Instance: s.Instance, Text: "goroutines of this process"})
		return h, nil
	}
	h, err := instance.StartProcess(s, r.e.cfg.Worker, desk)
	if err != nil {
		return nil, err
	}
	r.rec.Record(history.Event{Kind: history.InstanceStarted, Instance: s.Instance, Text: fmt.Sprintf("pid %d", h.PID())})
	return h, nil
}

// hear records an instance's event. A process that a fault has paused stands
// still because of that.
func (r *run) hear(e history.Event) {
	if e.Kind == history.MachineStalled && r.stage.wasPaused(e.Instance) {
		e.Fault = pauseFault
	}
	r.rec.Record(e)
}

// pauseFault is the fault behind a process that stood still as planned.
var pauseFault = faults.PauseInstance{}.Name()

// connect puts a wire between instance id and each server.
func (r *run) connect(id int, wants []int) (instance.Start, instance.Dialer, error) {
	s := instance.Start{
		Instance: id, Epoch: r.start, Lock: r.plan.Lock, Key: r.plan.Key, SKU: r.plan.SKU,
		TTL: r.plan.TTL, RetryEvery: r.plan.RetryEvery, StallOver: r.stallOver(),
		Seed: r.plan.Seed, Wants: wants, Fence: r.plan.Fenced, ClientRetries: r.plan.ClientRetries,
		Shape: r.lock.Shape, AskCommit: r.job.Scenario.Reaches(faults.Committing),
	}
	ups := map[string]func(context.Context) (conn, error){}
	add := func(name string, n cluster.Node) (instance.Server, error) {
		srv := instance.Server{Name: name, Role: n.Role(), Announced: n.Announced()}
		if !r.e.cfg.Backend.Real() {
			ups[srv.Announced] = func(ctx context.Context) (conn, error) { return r.wire.Dial(ctx, id, name, n.Dial) }
			return srv, nil
		}
		var err error
		srv.Dial, err = r.wire.Listen(id, name, n.Dial)
		return srv, err
	}
	var err error
	s.MasterSet = r.lock.MasterSet
	s.Inventory = r.e.inventory.at()
	if n := r.e.inventory.node(); n != nil {
		if s.Inventory.Server, err = add(inventoryName, n); err != nil {
			return s, nil, fmt.Errorf("put a wire between instance %d and the inventory: %w", id, err)
		}
	}
	for _, n := range r.lock.Nodes {
		srv, err := add(n.Name(), n)
		if err != nil {
			return s, nil, fmt.Errorf("put a wire between instance %d and %s: %w", id, n.Name(), err)
		}
		s.Servers = append(s.Servers, srv)
	}
	return s, func(ctx context.Context, _, addr string) (conn, error) {
		up, ok := ups[addr]
		if !ok {
			return nil, fmt.Errorf("dial %s: no server of this run is announced there", addr)
		}
		return up(ctx)
	}, nil
}

// noteExit records how an instance ended.
func (r *run) noteExit(h *instance.Host) {
	<-h.Ended()
	e := history.Event{Kind: history.InstanceExited, Instance: h.ID(), Text: h.How()}
	if !r.stopping.Load() && !r.stage.wasKilled(h.ID()) {
		e.Err = "it ended by itself: " + h.How()
	}
	r.rec.Record(e)
}
