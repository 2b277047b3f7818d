// Package engine is the run loop: start, inject, heal, drain, save, judge.
package engine

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/oversell/oversell/checks"
	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/instance"
	"github.com/oversell/oversell/internal/stats"
	"github.com/oversell/oversell/inventory"
	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/result"
	"github.com/oversell/oversell/scenarios"
)

// Config is what all runs of one invocation share.
type Config struct {
	Run     string // id of the invocation, see NewRunID
	Backend cluster.Backend
	Redis   string // server version, see cluster.Versions; "" for whatever the backend has
	// Inventory makes the store of record available. Nil means a Redis server
	// of InventoryBackend's, or where that is nil, too, of Backend's.
	Inventory        inventory.Source
	InventoryBackend cluster.Backend
	World            instance.World // lock kinds, and how to open the inventory
	Checks           []checks.Check
	Worker           []string            // command line of an instance process, e.g. /path/to/oversell instance
	Dir              string              // under which each run gets a directory
	Reuse            bool                // runs may get servers that an earlier run has left as they were
	AllowSimulated   bool                // a simulated backend's results may satisfy a gate
	Progress         func(Progress)      // called often, by one goroutine for each run; must not block. May be nil
	Ended            func(Ended)         // called when a trial is over, whatever came of it, and its servers are gone. May be nil
	Disable          func(step int) bool // test hook: steps (1, 2, ...) whose moment comes and whose fault then does nothing. May be nil
	Version          string              // of oversell, for plan.json
	Observer         Observer            // may be nil
}

// Observer hears of every trial as it goes on. Its methods are called
// concurrently when runs go on at the same time, and must not block.
type Observer interface {
	// Began returns what is to hear every event of a trial, in order, one at a
	// time; see history.NewRecorder.
	Began(history.Plan) func(history.Event)
	// Judged hears what a trial came to. One that broke down is never judged.
	Judged(result.Run)
}

// Job is one scenario under one lock kind, some number of times.
type Job struct {
	Scenario scenarios.Scenario // its Load as it is to be played, overrides applied
	Kind     locks.Kind
	Expect   result.Expectation // "": what the kind claims
	Trials   int                // at least 1
	Seed     int64              // of the first trial; each further one adds 1
	Redis    string             // server version; "" for the config's
	Command  string             // repeats this job
}

func (j Job) expected() result.Expectation {
	if j.Expect != "" {
		return j.Expect
	}
	return j.Kind.Expected(j.Scenario.Hazard)
}

// ErrUnavailable is wrapped when a job can't be played on the backend at all
// ("kill needs real processes").
var ErrUnavailable = errors.New("not available here")

// Unavailable is the error of a job that can't be played. It wraps
// ErrUnavailable.
type Unavailable struct {
	Scenario, Lock string
	Why            error
}

func (u *Unavailable) Error() string {
	return fmt.Sprintf("scenario %s, lock %s: %v: %v", u.Scenario, u.Lock, ErrUnavailable, u.Why)
}

// Unwrap returns ErrUnavailable and the reason.
func (u *Unavailable) Unwrap() []error { return []error{ErrUnavailable, u.Why} }

// Engine plays jobs. Its methods can be called concurrently, but Close last.
type Engine struct {
	cfg Config

	mu        sync.Mutex
	inventory *keeper // shared by all runs, each with an article of its own

	known capabilities
	idle  idle
	gone  removals
}

// version is the server version that j asks for.
func (e *Engine) version(j Job) string {
	if j.Redis != "" {
		return j.Redis
	}
	return e.cfg.Redis
}

// New makes an engine. Close it when done.
func New(cfg Config) *Engine { return &Engine{cfg: cfg} }

// NewRunID returns an id that no other invocation has.
func NewRunID() string {
	b := make([]byte, 4)
	_, _ = rand.Read(b) // never fails
	return time.Now().UTC().Format("0102t150405") + "-" + hex.EncodeToString(b)
}

// Available returns nil when the job can be played on the engine's backend,
// else an error that wraps ErrUnavailable and says why not. It starts nothing.
func (e *Engine) Available(j Job) error {
	if err := e.cfg.Backend.Supports(j.Scenario.Shape); err != nil {
		return &Unavailable{j.Scenario.Name, j.Kind.Name, err}
	}
	if !hasShape(j.Kind, j.Scenario.Shape) {
		return &Unavailable{j.Scenario.Name, j.Kind.Name, fmt.Errorf("the lock doesn't run on the shape %s", j.Scenario.Shape)}
	}
	backend := e.cfg.Backend
	t := faults.Target{
		Real:    backend.Real(),
		Cluster: &cluster.Cluster{Backend: backend.Name(), Shape: j.Scenario.Shape, Simulated: !backend.Real()},
	}
	outliner, outlined := backend.(cluster.Outliner)
	if outlined {
		t.Cluster = outliner.Outline(j.Scenario.Shape)
	}
	for _, s := range j.Scenario.Steps {
		if err := s.Do.Available(t); errors.Is(err, faults.ErrNotReal) || (outlined && err != nil) {
			return &Unavailable{j.Scenario.Name, j.Kind.Name, err}
		}
	}
	return e.known.refuse(j, e.version(j))
}

func hasShape(k locks.Kind, s cluster.Shape) bool {
	for _, t := range k.Topologies {
		if t == s {
			return true
		}
	}
	return false
}

// Run plays a job and returns its outcome: that of the trial that decided the
// gate. When ctx ends, what was recorded is kept, everything that was started
// for the run is removed, and ctx's error is returned.
func (e *Engine) Run(ctx context.Context, j Job) (result.Run, error) {
	if err := e.Available(j); err != nil {
		return result.Run{}, err
	}
	if err := e.capable(ctx, j); err != nil {
		return result.Run{}, err
	}
	trials := make([]result.Run, 0, max(j.Trials, 1))
	for i := range max(j.Trials, 1) {
		r, err := e.trial(ctx, j, i+1)
		if err != nil {
			return result.Run{}, err
		}
		trials = append(trials, r)
	}
	return decide(trials), nil
}

// decide picks the first trial with the worst gate, and counts all of them.
func decide(trials []result.Run) result.Run {
	gates := make([]result.Gate, len(trials))
	verdicts := map[result.Verdict]int{}
	violations := 0
	for i, t := range trials {
		gates[i] = t.Gate
		verdicts[t.Verdict]++
		if t.Verdict.Violation() {
			violations++
		}
	}
	worst := result.WorstGate(gates...)
	for _, t := range trials {
		if t.Gate == worst {
			t.Trials, t.Violations, t.Verdicts = len(trials), violations, verdicts
			t.Inconclusive = verdicts[result.Inconclusive]
			t.Rate = rate(violations, t.Trials-t.Inconclusive)
			return t
		}
	}
	panic("engine: no trial has the worst gate of all trials")
}

// rate is how often there was a violation among the trials that say something.
func rate(violations, trials int) result.Rate {
	r := stats.Rate{Hits: violations, Trials: trials}
	out := result.Rate{Confidence: stats.Confidence}
	out.Low, out.High = r.Interval()
	if trials > 0 {
		out.Share = float64(violations) / float64(trials)
	}
	return out
}

// Close removes what the engine's runs shared.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	inventory := make(chan error, 1)
	go func() { inventory <- e.inventory.close(ctx) }()
	err := errors.Join(e.idle.close(ctx), e.gone.wait(), <-inventory)
	e.inventory = nil
	return err
}
