package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/instance"
	"github.com/oversell/oversell/inventory"
	"github.com/oversell/oversell/result"
	"github.com/oversell/oversell/wire"
)

// run is one trial under way.
type run struct {
	e     *Engine
	job   Job
	dir   string
	plan  history.Plan
	start time.Duration // as history.Monotonic read it

	file  *os.File
	rec   *history.Recorder
	watch *watcher

	lock  *cluster.Cluster
	store inventory.Store
	info  *sampler
	wire  *wire.Wire
	stage *stage
	polls atomic.Int64 // attempts to acquire that the servers refused

	judged   bool // the run came to its end
	hosts    hosts
	exits    sync.WaitGroup
	stopping atomic.Bool
}

// trial plays a job once. It reads like the README: start, sell while faults
// are injected, drain, heal, count, save, judge.
func (e *Engine) trial(ctx context.Context, j Job, n int) (out result.Run, err error) {
	r, err := e.newRun(j, n)
	if err != nil {
		return result.Run{}, err
	}
	defer func() { r.tell(out, err) }()
	defer r.showProgress()()
	defer func() { err = errors.Join(err, r.clean(ctx)) }()
	defer func() { r.noteFailure(err) }()

	if err := r.begin(ctx); err != nil {
		return result.Run{}, fmt.Errorf("scenario %s, lock %s: %w", j.Scenario.Name, j.Kind.Name, err)
	}
	r.sell(ctx)
	r.drain()
	r.stage.healAll(ctx)
	lost := r.count(ctx)
	if err := r.save(); err != nil {
		return result.Run{}, err
	}
	if ctx.Err() != nil {
		return result.Run{}, fmt.Errorf("interrupted; the history is kept in %s: %w", r.dir, context.Cause(ctx))
	}
	if lost != nil {
		return result.Run{}, fmt.Errorf("%w; the history is kept in %s", lost, r.dir)
	}
	out, err = r.judge()
	r.judged = err == nil
	if o := e.cfg.Observer; o != nil && r.judged {
		o.Judged(out)
	}
	return out, err
}

// newRun opens the run's directory and its history.
func (e *Engine) newRun(j Job, n int) (*run, error) {
	r := &run{e: e, job: j, plan: e.newPlan(j, n), start: history.Monotonic()}
	var err error
	if r.dir, err = newRunDir(e.cfg.Dir, j.Scenario.Name, j.Kind.Name, r.plan.Started.Local()); err != nil {
		return nil, err
	}
	if err := history.WritePlan(r.dir, r.plan); err != nil {
		return nil, err
	}
	if r.file, err = os.Create(filepath.Join(r.dir, history.EventsFile)); err != nil {
		return nil, fmt.Errorf("open the history: %w", err)
	}
	r.watch = newWatcher(Progress{
		Scenario: j.Scenario.Name, Lock: name(j), Trial: n, Trials: max(j.Trials, 1),
		Phase: PhaseStarting, Left: r.plan.Stock,
	})
	r.rec = history.NewRecorder(r.file, history.Since(r.start), r.hook())
	r.rec.Record(history.Event{Kind: history.RunStarted})
	return r, nil
}

// hook is what sees every event as it is recorded.
func (r *run) hook() func(history.Event) {
	if r.e.cfg.Observer == nil {
		return r.watch.see
	}
	heard := r.e.cfg.Observer.Began(r.plan)
	return func(e history.Event) {
		r.watch.see(e)
		heard(e)
	}
}

// hosts are a run's instances. Safe for concurrent use.
type hosts struct {
	mu   sync.Mutex
	list []*instance.Host // instance 1, 2, ...
}

func (h *hosts) add(host *instance.Host) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, host)
}

func (h *hosts) all() []*instance.Host {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.list)
}

// find returns the instance of that number, or nil.
func (h *hosts) find(id int) *instance.Host {
	h.mu.Lock()
	defer h.mu.Unlock()
	if id < 1 || id > len(h.list) {
		return nil
	}
	return h.list[id-1]
}

// name is how a job's lock is called on the command line.
func name(j Job) string {
	if j.Kind.Alias != "" {
		return j.Kind.Alias
	}
	return j.Kind.Name
}

// progressEvery is how often a glance at the run is passed on.
const progressEvery = 100 * time.Millisecond

func (r *run) showProgress() (stop func()) {
	show := r.e.cfg.Progress
	if show == nil {
		return func() {}
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			show(r.watch.glance(r.rec.Now()))
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
	}
}

// sell lets the buyers buy, and the faults happen, until every buyer is done,
// nobody gets anywhere any more, or ctx ends.
func (r *run) sell(ctx context.Context) {
	r.watch.phase(PhaseSelling)
	stopInfo := r.info.watch(ctx)
	defer stopInfo()
	stop := history.Heartbeat(r.stallOver(), func(stood time.Duration) {
		r.rec.Record(history.Event{Kind: history.MachineStalled, Took: stood})
	})
	defer stop()

	began := r.rec.Record(history.Event{Kind: history.LoadStarted}).At
	r.stage.playTimed(ctx)
	done := make(chan struct{})
	all := r.hosts.all()
	for _, h := range all {
		h.Go()
	}
	go func() {
		for _, h := range all {
			<-h.Done()
		}
		close(done)
	}()
	ended := history.Event{Kind: history.LoadEnded}
	ended.Phase, ended.Text = r.await(ctx, done, began)
	r.keyStates(ctx)
	r.rec.Record(ended)
	r.linger(ctx)
}

// linger looks on after the load, as long as the scenario wants: whatever still
// keeps a key when every buyer is through shows itself then.
func (r *run) linger(ctx context.Context) {
	d := r.job.Scenario.Load.Linger
	if d <= 0 {
		return
	}
	r.watch.phase(PhaseLingering)
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		r.keyStates(ctx)
	case <-ctx.Done():
	}
}

// stallPoll is how often the run loop looks whether anybody still gets anywhere.
const stallPoll = 20 * time.Millisecond

// await returns how the load ended, in a word and in words.
func (r *run) await(ctx context.Context, done <-chan struct{}, began time.Duration) (phase, text string) {
	tick := time.NewTicker(stallPoll)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return "done", "every buyer is done"
		case <-ctx.Done():
			return "interrupted", firstLine(context.Cause(ctx).Error())
		case <-r.e.inventory.lost():
			return "inventory lost", firstLine(r.e.inventory.place.Why().Error())
		case <-tick.C:
		}
		quiet, idle := r.stage.idleSince()
		since := max(began, quiet, r.watch.lastSale())
		if idle && r.rec.Now()-since > r.plan.StallAfter {
			if units, err := r.store.Units(ctx, r.plan.SKU); err == nil && units <= 0 {
				return "sold out", fmt.Sprintf("nothing is left; some buyers still waited to hear of it after %s", r.plan.StallAfter)
			}
			return "stalled", fmt.Sprintf("nobody could buy for %s", r.plan.StallAfter)
		}
	}
}

// stallOver is how long the machine may stand still without a word in the
// history. Checks decide what it means.
func (r *run) stallOver() time.Duration {
	return min(r.plan.TTL/6, time.Second)
}

// stopTimeout bounds the end of an instance that is told to stop; then it is killed.
const stopTimeout = 2 * time.Second

// drain stops every instance. What they were doing is given up.
func (r *run) drain() {
	r.stopping.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	var wg sync.WaitGroup
	for _, h := range r.hosts.all() {
		wg.Go(func() { h.Stop(ctx) })
	}
	wg.Wait()
	r.exits.Wait()
}

// save writes the history out before anyone judges it.
func (r *run) save() error {
	r.watch.phase(PhaseJudging)
	r.rec.Record(history.Event{Kind: history.RunEnded})
	if err := r.rec.Flush(); err != nil {
		return fmt.Errorf("save the history: %w", err)
	}
	return nil
}

// cleanTimeout bounds the removal of a run's servers.
const cleanTimeout = 20 * time.Second

// clean removes everything that was started for the run, however far it came.
func (r *run) clean(ctx context.Context) error {
	r.watch.phase(PhaseCleaning)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
	defer cancel()
	r.drain()
	if r.wire != nil {
		_ = r.wire.Close()
	}
	if !r.handOver(ctx) {
		r.e.gone.remove(r.lock)
	}
	return errors.Join(r.rec.Flush(), r.file.Close())
}
