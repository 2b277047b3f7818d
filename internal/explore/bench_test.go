package explore

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkSchedules plays every schedule of two buyers under the naive lock
// from beginning to end, on all cores, and reports schedules and events a second.
func BenchmarkSchedules(b *testing.B) {
	for _, c := range []struct{ lock, hazard string }{
		{"setnx-expire-del", "none"}, {"setnx-expire-del", "slow-call"}, {"setnx-expire-del", "expiry"}, {"lua-release", "slow-call"},
	} {
		b.Run(c.lock+"/"+c.hazard, func(b *testing.B) {
			var runs, events int64
			for b.Loop() {
				r := benchmarked(b, two(b, kind(b, c.lock), c.hazard), Config{Unreduced: true, recall: true})
				runs, events = runs+r.Runs, events+r.Events
			}
			b.ReportMetric(float64(runs)/b.Elapsed().Seconds(), "schedules/s")
			b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkDecide explores two buyers exhaustively, with reduction.
func BenchmarkDecide(b *testing.B) {
	for _, c := range []struct {
		lock, hazards string
		faults        int
	}{
		{"setnx-expire-del", "slow-call", 0}, {"setnx-expire-del", "expiry", 0}, {"setnx-expire-del", "all", 2},
		{"lua-watchdog", "slow-call", 0}, {"lua-watchdog", "delay", 0}, {"fenced", "all", 2},
	} {
		b.Run(c.lock+"/"+c.hazards, func(b *testing.B) {
			var r *Report
			for b.Loop() {
				cs := two(b, kind(b, c.lock), c.hazards)
				cs.Faults = c.faults
				r = benchmarked(b, cs, Config{})
			}
			b.ReportMetric(float64(r.Runs), "played")
			b.ReportMetric(r.Counts.All, "schedules")
			b.ReportMetric(float64(r.States), "states")
			b.ReportMetric(math.Max(1, r.Counts.All)/float64(r.Runs), "reduction")
		})
	}
}

func benchmarked(b *testing.B, c Case, cfg Config) *Report {
	b.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // as the command does
	cfg.T, cfg.Workers, cfg.Strategy = bubbles, runtime.GOMAXPROCS(0), Exhaustive
	r, err := Explore(b.Context(), c, cfg)
	require.NoError(b, err)
	require.True(b, r.Complete)
	return r
}

// bubbles is what benchmarks open bubbles with: a *testing.B can't.
var bubbles = new(testing.T)
