package metrics

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/result"
)

// Build is what the program was built from.
type Build struct{ Version, Commit, Go string }

// Runs tells of oversell's own runs. Safe for concurrent use.
type Runs struct {
	locks     lockVecs
	runs      *prometheus.CounterVec // scenario, lock, verdict
	gates     *prometheus.CounterVec // gate
	oversold  prometheus.Counter
	purchases *prometheus.CounterVec // lock, outcome
	injected  *prometheus.CounterVec // fault
	failed    *prometheus.CounterVec // fault
}

// The outcomes of purchases that got as far as the stock.
const (
	sold         = "sold"
	fenceRefused = "fence_refused"
	abandoned    = "abandoned"
	unknown      = "unknown"
)

// NewRuns registers the metrics of runs with reg.
func NewRuns(reg prometheus.Registerer, b Build) (*Runs, error) {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "oversell_build_info",
		Help: "What oversell was built from; always 1."}, []string{"version", "commit", "goversion"})
	info.WithLabelValues(label(b.Version), label(b.Commit), label(b.Go)).Set(1)
	r := &Runs{
		runs:  counter("oversell_runs_total", "Runs that came to a verdict; every trial is one.", "scenario", "lock", "verdict"),
		gates: counter("oversell_gates_total", "Runs by verdict against expectation: pass, fail or inconclusive.", "gate"),
		oversold: prometheus.NewCounter(prometheus.CounterOpts{Name: "oversell_units_oversold_total",
			Help: "Orders beyond the stock, of runs that came to a verdict."}),
		purchases: counter("oversell_purchases_total",
			"Purchases that reached the stock: sold, fence_refused, abandoned before the commit, or unknown.", "lock", "outcome"),
		injected: counter("oversell_faults_injected_total", "Faults that left evidence that they happened.", "fault"),
		failed:   counter("oversell_faults_failed_total", "Faults that left no evidence: what they should have shown wasn't shown.", "fault"),
	}
	var err error
	if r.locks, err = newLockVecs().registered(reg); err != nil {
		return nil, err
	}
	var errs []error
	for _, c := range []prometheus.Collector{info, r.runs, r.gates, r.oversold, r.purchases, r.injected, r.failed} {
		errs = append(errs, reg.Register(c))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("register the metrics of runs: %w", err)
	}
	for _, g := range []result.Gate{result.Pass, result.Fail, result.GateUnresolved} {
		r.gates.WithLabelValues(string(g))
	}
	return r, nil
}

// Judged counts a run that came to a verdict.
func (r *Runs) Judged(run result.Run) {
	r.runs.WithLabelValues(label(run.Scenario), label(run.Lock), string(run.Verdict)).Inc()
	r.gates.WithLabelValues(string(run.Gate)).Inc()
	r.oversold.Add(float64(run.Oversold))
}

// Began returns what is to hear every event of a run, in order. It doesn't block.
func (r *Runs) Began(p history.Plan) func(history.Event) {
	f := &follower{
		Runs: r, plan: p, lock: r.locks.lock(p.Lock), name: label(p.Lock),
		asking: map[string]time.Duration{}, inside: map[string]time.Duration{}, keeping: map[string]bool{},
	}
	for _, s := range p.Steps {
		r.injected.WithLabelValues(label(s.Fault))
		r.failed.WithLabelValues(label(s.Fault))
	}
	for _, o := range []string{sold, fenceRefused, abandoned, unknown} {
		r.purchases.WithLabelValues(f.name, o)
	}
	return f.see
}

// follower makes metrics of one run's events, which come one at a time.
type follower struct {
	*Runs
	plan history.Plan
	lock *Lock
	name string

	asking  map[string]time.Duration // since when purchases ask for the lock
	inside  map[string]time.Duration // since when purchases hold it, as they believe
	keeping map[string]bool          // purchases that have a lease
}

func (f *follower) see(e history.Event) {
	switch e.Kind {
	case history.AcquireStart:
		f.asking[e.Purchase] = e.At
	case history.Acquired:
		f.answered(e, locks.OutcomeAcquired)
		f.inside[e.Purchase], f.keeping[e.Purchase] = e.At, true
	case history.AcquireRefused:
		f.answered(e, locks.OutcomeNotAcquired)
	case history.AcquireUnknown:
		f.answered(e, locks.OutcomeUnknown)
	case history.LostNoticed, history.ReleaseStart:
		f.left(e)
	case history.Released:
		f.released(e, locks.OutcomeReleased)
	case history.ReleaseNotHeld:
		f.released(e, locks.OutcomeNotHeld)
	case history.ReleaseUnknown:
		f.released(e, locks.OutcomeUnknown)
	case history.Committed:
		f.purchases.WithLabelValues(f.name, sold).Inc()
	case history.CommitRefused:
		f.purchases.WithLabelValues(f.name, fenceRefused).Inc()
	case history.CommitUnknown:
		f.purchases.WithLabelValues(f.name, unknown).Inc()
	case history.Abandoned:
		f.purchases.WithLabelValues(f.name, abandoned).Inc()
	case history.FaultInjected:
		f.injected.WithLabelValues(label(e.Fault)).Inc()
	case history.FaultFailed:
		f.failed.WithLabelValues(label(e.Fault)).Inc()
	case history.InstanceExited:
		f.forget(func(purchase string) bool {
			instance, _, _, ok := history.ParsePurchase(purchase)
			return ok && instance == e.Instance
		})
	case history.RunEnded:
		f.forget(func(string) bool { return true })
	}
}

func (f *follower) answered(e history.Event, o locks.Outcome) {
	if since, ok := f.asking[e.Purchase]; ok {
		delete(f.asking, e.Purchase)
		f.lock.acquired(o, e.At-since)
	}
}

// left ends a held interval: at the release, or when the loss was noticed.
func (f *follower) left(e history.Event) {
	if since, ok := f.inside[e.Purchase]; ok {
		delete(f.inside, e.Purchase)
		f.lock.ended(f.plan.Key, e.At-since, f.plan.TTL, e.Kind == history.LostNoticed)
	}
}

func (f *follower) released(e history.Event, o locks.Outcome) {
	f.lock.release[o].Inc()
	if f.keeping[e.Purchase] {
		delete(f.keeping, e.Purchase)
		f.lock.held.Dec()
	}
}

// forget drops what nobody will tell any more. What a killed instance held was
// held for a time that nobody knows.
func (f *follower) forget(gone func(purchase string) bool) {
	for p := range f.asking {
		if gone(p) {
			delete(f.asking, p)
		}
	}
	for p := range f.inside {
		if gone(p) {
			delete(f.inside, p)
		}
	}
	for p := range f.keeping {
		if gone(p) {
			delete(f.keeping, p)
			f.lock.held.Dec()
		}
	}
}
