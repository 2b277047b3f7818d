package explore

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"testing"
	"time"
)

// Strategy is a way of choosing schedules.
type Strategy string

// The strategies.
const (
	Auto       Strategy = "auto"       // exhaustive while it fits the budget, PCT for the rest of it
	Exhaustive Strategy = "exhaustive" // every schedule
	PCT        Strategy = "pct"        // random priorities, with a bound on the probability to miss
	Random     Strategy = "random"     // uniformly among the events of each state
)

// Strategies lists them.
func Strategies() []Strategy { return []Strategy{Auto, Exhaustive, PCT, Random} }

// Config is how to explore.
type Config struct {
	T        *testing.T // that of the test, or Ordinary()
	Workers  int        // bubbles side by side; 0 means 1
	Strategy Strategy   // "" means Auto
	Budget   time.Duration
	// Unreduced runs every schedule from beginning to end, for comparison.
	Unreduced bool
	// Progress hears of the state of things about twice a second. It may be nil.
	Progress func(Progress)
	// Resume is what Report.Checkpoint of an unfinished exploration of the same
	// case gave; nil starts anew.
	Resume []byte
	// Help makes a command that calls Help, with what belongs to it in its standard
	// input and as its first extra file. With it, what takes longer than a moment is
	// explored by as many processes as there are workers. It may be nil.
	Help func() *exec.Cmd
	// StuckAfter is how long in real time one event may take; 0 means 20 s.
	StuckAfter time.Duration

	recall  bool // remember scripts although unreduced
	noInfer bool // merge states, but run every edge
	noTurns bool // tell buyers apart once they have done something

	again bool // a stray of the lock's may have been taken for what it usually does, so all is explored once more

	noCompose bool // play every edge whose outcome doesn't follow from another order
	noForget  bool // what a buyer has seen who has left still tells states apart
	inOrder   bool // which of several masters has answered first tells states apart
	noShed    bool // what does nothing any more is still on its way, and may arrive
}

// Progress is how far an exploration is.
type Progress struct {
	Runs, Events int64
	States, Open int
	Found        bool
	Sampling     bool
	Over         bool // the last one
}

// Report is what exploring has come to.
type Report struct {
	Case     Case
	Strategy Strategy // that was asked for
	Complete bool     // every schedule under the hazards and bounds is accounted for
	Why      string   // why it isn't complete

	Counts   Counts        // of all schedules, those that weren't run included; Unfinished unless Complete
	Runs     int64         // that were played, each from the beginning up to something known
	Events   int64         // that were played
	States   int           // different ones
	Open     int           // events that were seen and not followed
	Inferred int64         // events whose outcome followed from another order
	Strays   int64         // schedules in which the lock went another way than before
	FirstBad int64         // which run oversold first, 0 for none
	FirstIn  time.Duration // how long that took
	Sampled  *Sample       // what PCT or random has come to, nil when neither was used

	Found      []*Counterexample // one for each property that was broken, worst first
	Wall       time.Duration
	Checkpoint []byte // for Config.Resume, when exploring exhaustively wasn't finished and there is room to go on
	Remarks
	finals map[view]struct{}
	plain  bool // buyers weren't exchanged
}

// Remarks are what was noticed about a lock besides.
type Remarks struct {
	LeavesOn bool // the lock's goroutines go on after Close
	// Strayed is an example of the schedules, Report.Strays of them, in which the lock
	// went another way than before and, when they were played again, as before; nil for
	// none. Which of its own goroutines is first isn't controlled.
	Strayed *NondeterminismError
}

func (m *Remarks) add(o Remarks) {
	m.LeavesOn = m.LeavesOn || o.LeavesOn
	if m.Strayed == nil {
		m.Strayed = o.Strayed
	}
}

// Explore explores a case until all is known, the budget is used up or ctx
// ends; in all three cases there is a report. An error means that nothing can be
// said: the lock can't be explored, isn't deterministic, or is stuck. After a
// StuckError goroutines of the lock are still running, so the program should end.
func Explore(ctx context.Context, c Case, cfg Config) (*Report, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	c = c.WithDefaults()
	if cfg.Strategy == "" {
		cfg.Strategy = Auto
	}
	cfg.Workers = max(1, cfg.Workers)
	r := &Report{Case: c, Strategy: cfg.Strategy}
	began := time.Now()
	if cfg.Strategy == Auto || cfg.Strategy == Exhaustive {
		budget := cfg.Budget
		if cfg.Strategy == Auto {
			budget = budget * 2 / 3
		}
		if err := r.exhaust(ctx, cfg, budget); err != nil {
			return nil, err
		}
	}
	if !r.Complete && ctx.Err() == nil && cfg.Strategy != Exhaustive {
		rest := max(cfg.Budget-time.Since(began), cfg.Budget/10) // a busy machine may have overrun it
		if err := r.sample(ctx, cfg, rest); err != nil {
			return nil, err
		}
	}
	r.Wall = time.Since(began)
	return r, nil
}

// exhaust explores every schedule, as far as the budget goes. A lock that treats
// buyers differently, as one does that goes by the order of random values, is
// explored anew with buyers told apart, and one that goes on when the purchase is
// over with what buyers who have left had seen. Before that it is given another try:
// one stray, if it is the first to show where a schedule leads, contradicts all others.
func (r *Report) exhaust(ctx context.Context, cfg Config, budget time.Duration) error {
	began := time.Now()
	err := r.exhaustOnce(ctx, cfg, budget)
	var differs *NondeterminismError
	_ = errors.As(err, &differs) // else it stays nil
	switch {
	case ctx.Err() != nil:
		return err
	case !cfg.again && (differs != nil && differs.Before == "" || errors.Is(err, errParts) || errors.Is(err, errHolds)):
		cfg.again = true
	case errors.Is(err, errLingers):
		cfg.noForget = true
	case errors.Is(err, errParts):
		cfg.noCompose = true
	case errors.Is(err, errReuses):
		cfg.noShed = true
	case differs != nil && !(cfg.noForget && cfg.noTurns && cfg.inOrder):
		cfg.noForget, cfg.noTurns, cfg.noCompose, cfg.inOrder, cfg.noShed = true, true, true, true, true
	default:
		return err
	}
	if budget > 0 {
		budget = max(time.Second, budget-time.Since(began))
	}
	cfg.Resume, r.Found = nil, nil
	return r.exhaust(ctx, cfg, budget)
}

// exhaustOnce is exhaust, with buyers exchanged or told apart.
func (r *Report) exhaustOnce(ctx context.Context, cfg Config, budget time.Duration) error {
	g := cfg.graph(r.Case)
	if cfg.Help != nil {
		if m, err := newRegion(); err == nil {
			defer m.close()
			g.liesIn(m)
			defer g.leave()
		} else {
			cfg.Help = nil // this process explores by itself
		}
	}
	if err := g.begin(cfg, r.Case); err != nil {
		return err
	}
	cfg.noTurns, cfg.noForget = g.plain, g.keeps
	why := ""
	halt := func(reason string) {
		g.lock()
		defer g.unlock()
		if !g.stop {
			why = reason
		}
		g.stop = true
	}
	defer context.AfterFunc(ctx, func() { halt("interrupted") })()
	if budget > 0 {
		defer time.AfterFunc(budget, func() { halt("the budget has ended") }).Stop()
	}
	tm := &team{cfg: cfg, c: r.Case, halt: func() { halt("an error") }}
	defer report(cfg.Progress, g.progress)()
	first := stopwatch(g.found)
	if cfg.Help != nil {
		defer time.AfterFunc(aMoment, func() { tm.over.Store(true) }).Stop()
	}
	err := tm.exhaust(g, &r.Remarks)
	if err == nil && tm.over.Load() && !g.done() {
		var also Remarks
		also, err = cfg.together(ctx, r.Case, g)
		r.add(also)
	}
	r.FirstIn = first()
	if err != nil {
		return err
	}
	g.lock() // what others have added is seen from now on, and why it ended
	ended := why
	g.unlock()
	return r.take(g, ended, cfg)
}

// graph is a new one for exploring c.
func (cfg Config) graph(c Case) *graph {
	g := newGraph(!cfg.Unreduced, !cfg.Unreduced && !cfg.noInfer && c.Preemptions < 0)
	g.composes = !cfg.Unreduced && !cfg.noInfer && !cfg.noCompose && c.Buyers <= maxTurned
	g.buyers, g.masters, g.stock, g.preemptions = c.Buyers, c.Masters, c.Stock, c.Preemptions
	g.turns, g.composer = turnsOf(c.Buyers, c.Masters), newComposer(c.Masters)
	g.scratch.scene.buyers = make([]sketch, c.Buyers)
	return g
}

// begin puts into g what was known before.
func (g *graph) begin(cfg Config, c Case) error {
	g.lock()
	defer g.unlock()
	g.plain, g.keeps = cfg.noTurns, cfg.noForget
	if cfg.Resume == nil {
		return nil
	}
	return g.load(cfg.Resume, c)
}

// done reports whether there is nothing more to be explored, or that it is to end.
func (g *graph) done() bool {
	g.lock()
	defer g.unlock()
	return g.stop || g.rooted && g.open == 0
}

// exhaust lets every worker of tm explore g, until all is known or tm is over.
func (tm *team) exhaust(g *graph, noticed *Remarks) error {
	err := tm.work(func(k *worker) error {
		k.g = g
		g.lock()
		g.plain, g.keeps = len(k.w.turns) == 1, !k.w.forgets
		g.unlock()
		err := k.exhaust()
		g.lock()
		defer g.unlock()
		noticed.add(Remarks{LeavesOn: k.w.fresh})
		return err
	})
	noticed.add(Remarks{LeavesOn: tm.left.Load(), Strayed: tm.strayed.Load()})
	return err
}

// stopwatch measures the real time until what is closed; the returned function
// tells it, or 0 if that hasn't happened, and stops. In a bubble time is fake.
func stopwatch(what <-chan struct{}) func() time.Duration {
	began := time.Now()
	var took time.Duration
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-what:
			took = time.Since(began)
		case <-stop:
		}
	}()
	return func() time.Duration {
		select {
		case <-what:
		default:
			close(stop)
		}
		<-stopped
		return took
	}
}

// take reads the graph into the report.
func (r *Report) take(g *graph, why string, cfg Config) error {
	var err error
	r.Runs, r.Events, r.States, r.Inferred, r.Strays, r.FirstBad = g.runs, g.events, len(g.nodes), g.inferred, g.strays, g.firstBad
	if r.Counts, err = g.count(); err != nil {
		return err
	}
	r.finals, r.plain = g.finals, g.plain
	var far int
	r.Open, far = g.left()
	r.Complete = len(g.nodes) > 0 && r.Open+far == 0 && !g.full
	r.Why = why
	switch {
	case g.full:
		r.Why = fmt.Sprintf("%d states are as many as are kept in memory", len(g.nodes))
	case r.Open == 0 && far > 0:
		r.Why = fmt.Sprintf("what takes more than %d events isn't followed", farOffEvents)
	case !r.Complete:
		if r.Checkpoint, err = g.save(r.Case); err != nil {
			return err
		}
	}
	for _, p := range Properties() {
		if evs := g.shortest(p); evs != nil {
			if err := r.found(p, evs, r.Complete, cfg); err != nil {
				return err
			}
		}
	}
	return nil
}

// found plays a counterexample twice, and adds it.
func (r *Report) found(p Property, evs []event, shortest bool, cfg Config) error {
	x, err := playBack(cfg, r.Case, p, evs)
	if err != nil {
		return err
	}
	x.Shortest = shortest
	r.Found = append(r.Found, x)
	return nil
}

// Broke returns the counterexample of a property, or nil.
func (r *Report) Broke(p Property) *Counterexample {
	for _, x := range r.Found {
		if x.Property == p {
			return x
		}
	}
	return nil
}

func (g *graph) progress() Progress {
	g.lock()
	defer g.unlock()
	return Progress{Runs: g.runs, Events: g.events, States: len(g.nodes), Open: int(g.open), Found: g.firstBad > 0}
}

// report tells f about the state of things until the returned function is called.
func report(f func(Progress), of func() Progress) (stop func()) {
	if f == nil {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(500 * time.Millisecond)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				f(of())
			case <-quit:
				p := of()
				p.Over = true
				f(p)
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}
