package explore

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/locks/naive"
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

// BenchmarkFirstOversell looks for the first schedule that oversells, under all
// hazards, of every lock that is made to be broken.
func BenchmarkFirstOversell(b *testing.B) {
	for _, k := range naive.All() {
		b.Run(k.Name, func(b *testing.B) {
			var in time.Duration
			var runs int64
			for b.Loop() {
				c := two(b, k, "all")
				c.Faults = 2
				r, err := Explore(b.Context(), c, Config{T: bubbles, Workers: runtime.GOMAXPROCS(0), Strategy: Exhaustive, Budget: time.Second})
				require.NoError(b, err)
				require.Positive(b, r.FirstBad)
				in, runs = in+r.FirstIn, runs+r.FirstBad
			}
			b.ReportMetric(in.Seconds()*1000/float64(b.N), "ms")
			b.ReportMetric(float64(runs)/float64(b.N), "played")
		})
	}
}

// BenchmarkThreeBuyers explores three buyers exhaustively, under each hazard by
// itself and with two preemptions under all of them. Use -benchtime 1x.
func BenchmarkThreeBuyers(b *testing.B) {
	three := func(b *testing.B, lock string, preemptions int, hazards string) {
		c := two(b, kind(b, lock), hazards)
		c.Buyers, c.Preemptions = 3, preemptions
		if hazards == "all" {
			c.Faults = 2
		}
		var r *Report
		for b.Loop() {
			r = benchmarked(b, c, Config{})
		}
		b.ReportMetric(float64(r.Runs), "played")
		b.ReportMetric(r.Counts.All, "schedules")
		b.ReportMetric(float64(r.States), "states")
	}
	for _, lock := range []string{"setnx-expire-del", "lua-watchdog", "fenced"} {
		for _, h := range Hazards() {
			b.Run(lock+"/"+string(h.Hazard), func(b *testing.B) { three(b, lock, -1, string(h.Hazard)) })
		}
		b.Run(lock+"/all", func(b *testing.B) { three(b, lock, 2, "all") })
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
