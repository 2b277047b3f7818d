// Package metrics tells Prometheus about locks and runs. Lock is for locks in
// production, see locks.Observed; Runs is for oversell's own runs. Both have the
// same metrics of a lock, so that one dashboard and one set of alerts serve both.
//
// Every label has a bounded number of values: names that the caller chose, and
// words of this project. Keys, instances and purchases are never labels.
package metrics

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/oversell/oversell/locks"
)

// lockVecs are the metrics of all locks that are told to one registry.
type lockVecs struct {
	acquire  *prometheus.HistogramVec // lock, outcome
	releases *prometheus.CounterVec   // lock, outcome
	hold     *prometheus.HistogramVec // lock
	ratio    *prometheus.HistogramVec // lock
	held     *prometheus.GaugeVec     // lock
	lost     *prometheus.CounterVec   // lock
	row      *prometheus.CounterVec   // lock
}

// The bounds of buckets. That of 0.8 is where a hold begins to count as long.
var (
	waitBuckets  = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	holdBuckets  = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
	ratioBuckets = []float64{.05, .1, .25, .5, .6, .7, locks.LongHold, .9, 1, 1.25, 1.5, 2, 3, 5, 10}
)

func newLockVecs() lockVecs {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	return lockVecs{
		acquire: histogram("oversell_lock_acquire_duration_seconds",
			"How long Acquire took, by its outcome: acquired, not_acquired, or unknown, when the key may be held.", waitBuckets, "lock", "outcome"),
		releases: counter("oversell_lock_releases_total",
			"Releases by outcome: released, not_held (it was somebody else's or gone), untold, or unknown.", "lock", "outcome"),
		hold: histogram("oversell_lock_hold_duration_seconds",
			"For how long the lock was held: from the return of Acquire to the call of Release, or until it was lost.", holdBuckets, "lock"),
		ratio: histogram("oversell_lock_hold_ttl_ratio",
			"For which share of its TTL the lock was held.", ratioBuckets, "lock"),
		held: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "oversell_locks_held",
			Help: "Leases that were acquired and not released yet."}, []string{"lock"}),
		lost: counter("oversell_lock_lost_total",
			"Leases that said Lost before they were released.", "lock"),
		row: counter("oversell_lock_long_holds_in_a_row_total",
			"Holds of 80 % of the TTL or more that were at least the third of that kind in a row, of their key or of all keys.", "lock"),
	}
}

// register registers c, or returns what is registered under its names already.
func register[C prometheus.Collector](reg prometheus.Registerer, c C) (C, error) {
	err := reg.Register(c)
	var there prometheus.AlreadyRegisteredError
	if errors.As(err, &there) {
		if same, ok := there.ExistingCollector.(C); ok {
			return same, nil
		}
	}
	return c, err
}

// registered is v, or what of it is registered already.
func (v lockVecs) registered(reg prometheus.Registerer) (lockVecs, error) {
	var errs []error
	keep := func(err error) {
		errs = append(errs, err)
	}
	var err error
	v.acquire, err = register(reg, v.acquire)
	keep(err)
	v.releases, err = register(reg, v.releases)
	keep(err)
	v.hold, err = register(reg, v.hold)
	keep(err)
	v.ratio, err = register(reg, v.ratio)
	keep(err)
	v.held, err = register(reg, v.held)
	keep(err)
	v.lost, err = register(reg, v.lost)
	keep(err)
	v.row, err = register(reg, v.row)
	keep(err)
	if err := errors.Join(errs...); err != nil {
		return v, fmt.Errorf("register the metrics of locks: %w", err)
	}
	return v, nil
}

// Lock tells of one lock. It is a locks.Observer, safe for concurrent use.
type Lock struct {
	acquire map[locks.Outcome]prometheus.Observer
	release map[locks.Outcome]prometheus.Counter
	hold    prometheus.Observer
	ratio   prometheus.Observer
	held    prometheus.Gauge
	lost    prometheus.Counter
	row     prometheus.Counter
	streaks *streaks
}

var _ locks.Observer = (*Lock)(nil)

// NewLock registers the metrics with reg, unless they are already, and returns
// what tells it of one lock. The name becomes the label "lock": what the lock
// is for, such as "stock", and never a key. Several lockers can share a Lock.
func NewLock(reg prometheus.Registerer, name string) (*Lock, error) {
	v, err := newLockVecs().registered(reg)
	if err != nil {
		return nil, err
	}
	return v.lock(name), nil
}

// lock makes every series of a lock, so that counters begin at 0: from the
// first time that they are seen, nothing that is counted gets lost to a rate.
func (v lockVecs) lock(name string) *Lock {
	name = label(name)
	l := &Lock{
		acquire: map[locks.Outcome]prometheus.Observer{}, release: map[locks.Outcome]prometheus.Counter{},
		hold: v.hold.WithLabelValues(name), ratio: v.ratio.WithLabelValues(name), held: v.held.WithLabelValues(name),
		lost: v.lost.WithLabelValues(name), row: v.row.WithLabelValues(name), streaks: newStreaks(),
	}
	for _, o := range []locks.Outcome{locks.OutcomeAcquired, locks.OutcomeNotAcquired, locks.OutcomeUnknown} {
		l.acquire[o] = v.acquire.WithLabelValues(name, string(o))
	}
	for _, o := range []locks.Outcome{locks.OutcomeReleased, locks.OutcomeNotHeld, locks.OutcomeUntold, locks.OutcomeUnknown} {
		l.release[o] = v.releases.WithLabelValues(name, string(o))
	}
	return l
}

// longestLabel bounds a label that comes from a name of the user's.
const longestLabel = 120

// label is a name fit for a label, which has to be UTF-8.
func label(name string) string {
	name = strings.ToValidUTF8(name, "?")
	if len(name) > longestLabel {
		name = strings.ToValidUTF8(name[:longestLabel], "") + "..."
	}
	return name
}

// Acquired implements locks.Observer.
func (l *Lock) Acquired(_ context.Context, a locks.Acquisition) { l.acquired(a.Outcome(), a.Took) }

// Released implements locks.Observer.
func (l *Lock) Released(_ context.Context, h locks.Hold) {
	if !h.Again {
		l.ended(h.Key, h.Held, h.TTL, h.Lost)
		l.held.Dec()
	}
	l.release[h.Outcome()].Inc()
}

func (l *Lock) acquired(o locks.Outcome, took time.Duration) {
	l.acquire[o].Observe(took.Seconds())
	if o == locks.OutcomeAcquired {
		l.held.Inc()
	}
}

// ended counts a hold that is over.
func (l *Lock) ended(key string, held, ttl time.Duration, lost bool) {
	ratio := locks.Hold{Held: held, TTL: ttl}.Ratio()
	l.hold.Observe(held.Seconds())
	l.ratio.Observe(ratio)
	if lost {
		l.lost.Inc()
	}
	if l.streaks.add(key, ratio >= locks.LongHold) {
		l.row.Inc()
	}
}
