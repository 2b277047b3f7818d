package explore

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/locks/naive"
	"github.com/oversell/oversell/locks/peers"
	"github.com/oversell/oversell/locks/safe"
)

// kinds are all lock kinds that can be explored.
func kinds() []locks.Kind {
	return slices.DeleteFunc(slices.Concat(naive.All(), safe.All(), peers.All()), func(k locks.Kind) bool { return Unexplorable(k) != nil })
}

func kind(t testing.TB, name string) locks.Kind {
	t.Helper()
	for _, k := range kinds() {
		if k.Name == name {
			return k
		}
	}
	require.Failf(t, "no such kind", "%s", name)
	return locks.Kind{}
}

// long is called by tests that explore much in one way and in another. They say
// nothing about data races that the others don't.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("explores much")
	}
}

// two buyers and one unit.
func two(t testing.TB, k locks.Kind, hazards ...string) Case {
	t.Helper()
	bs, err := ParseHazards(hazards)
	require.NoError(t, err)
	return Case{Kind: k, Buyers: 2, Stock: 1, Hazards: bs, Preemptions: -1, Seed: 1}
}

// bounded is one unit and so many buyers, with bounds.
func bounded(t testing.TB, lock string, buyers, preemptions, faults int, hazards []string) Case {
	t.Helper()
	c := two(t, kind(t, lock), hazards...)
	c.Buyers, c.Preemptions, c.Faults = buyers, preemptions, faults
	return c
}

func explored(t *testing.T, c Case, cfg Config) *Report {
	t.Helper()
	cfg.T, cfg.Workers = t, max(1, cfg.Workers)
	if cfg.Strategy == "" {
		cfg.Strategy = Exhaustive
	}
	r, err := Explore(t.Context(), c, cfg)
	require.NoError(t, err)
	return r
}

// What each lock withstands, and what breaks it, is known from the incidents.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		lock, hazard string
		broken       []Property
	}{
		{"setnx-expire-del", "none", nil},
		{"setnx-expire-del", "slow-call", []Property{Oversold, ForeignRelease}},
		{"setnx-expire-del", "crash", []Property{Stalled}},
		{"setnx-expire-del", "lost-reply", []Property{Stalled}},
		{"constant-value", "slow-call", []Property{Oversold, ForeignRelease}},
		{"get-then-del", "slow-call", []Property{Oversold}},
		{"get-then-del", "delay", []Property{Oversold, ForeignRelease}},
		{"exset-excad", "slow-call", []Property{Oversold, ForeignRelease}},
		{"lua-release", "slow-call", []Property{Oversold}},
		{"redsync", "slow-call", []Property{Oversold}},
		{"redsync", "crash", nil},
		{"lua-release", "crash", nil},
		{"lua-watchdog", "slow-call", nil},
		{"lua-watchdog", "crash", nil},
		{"lua-watchdog", "lost-reply", nil},
		{"lua-watchdog", "delay", []Property{Oversold}},
		{"lua-watchdog", "failover", []Property{Oversold}},
		{"fenced", "slow-call", nil},
		{"fenced", "crash", nil},
		{"fenced", "delay", nil},
		{"fenced", "expiry", nil},
		{"fenced", "lost-reply", nil},
		{"fenced", "lost-command", nil},
		{"fenced", "failover", nil},
		{"fenced", "restart", nil},
		{"fenced", "eviction", nil},
		{"rueidislock", "none", nil},
		{"rueidislock", "slow-call", nil},
		{"rueidislock", "crash", nil},
		{"rueidislock", "delay", []Property{Oversold}},
		{"rueidislock", "expiry", []Property{Oversold}},
		{"rueidislock", "lost-reply", nil},
		{"rueidislock", "lost-command", nil},
		{"rueidislock", "failover", []Property{Oversold}},
		{"rueidislock", "restart", []Property{Oversold}},
		{"rueidislock", "eviction", []Property{Oversold}},
	} {
		t.Run(c.lock+"/"+c.hazard, func(t *testing.T) {
			r := explored(t, two(t, kind(t, c.lock), c.hazard), Config{Workers: 2})
			require.True(t, r.Complete, r.Why)
			var broken []Property
			for _, x := range r.Found {
				broken = append(broken, x.Property)
				require.True(t, x.Shortest)
				require.NotEmpty(t, x.Tale)
				require.Positive(t, r.Counts.Of(x.Property))
			}
			require.Equal(t, c.broken, broken)
		})
	}
}

// The reduction must lose nothing: with and without it there are as many
// schedules, as many of them break each property, they end in the same ways,
// and the shortest counterexamples are as long.
func TestReductionLosesNothing(t *testing.T) {
	long(t)
	small := []string{"setnx-expire-del", "constant-value", "get-then-del", "exset-excad", "lua-release"}
	renewing := []string{"lua-watchdog", "fenced", "fail-open", "redsync", "redislock"}
	for _, c := range []struct {
		hazards []string
		kinds   []string
	}{
		{[]string{"none"}, append(append(small, renewing...), "rueidislock")},
		{[]string{"slow-call"}, append(append(small, renewing[:3]...), "rueidislock")},
		{[]string{"crash"}, append(small, "lua-watchdog", "fenced", "redsync", "rueidislock")},
		{[]string{"lost-reply"}, append(small, "lua-watchdog", "redislock")},
		{[]string{"lost-command"}, append(small, "lua-watchdog", "fail-open", "rueidislock")},
		{[]string{"delay"}, small},
		{[]string{"expiry"}, small[:3]},
		{[]string{"failover"}, small[1:3]},
		{[]string{"eviction"}, small[3:]},
	} {
		for _, name := range c.kinds {
			t.Run(fmt.Sprint(name, c.hazards), func(t *testing.T) {
				all := explored(t, two(t, kind(t, name), c.hazards...), Config{Workers: 2, Unreduced: true})
				merged := explored(t, two(t, kind(t, name), c.hazards...), Config{Workers: 2, noInfer: true})
				reduced := explored(t, two(t, kind(t, name), c.hazards...), Config{Workers: 2})
				for _, r := range []*Report{merged, reduced} {
					requireSame(t, all, r)
				}
				require.EqualValues(t, all.Counts.All, all.Runs, "without reduction every schedule is played")
				require.Less(t, reduced.Runs, all.Runs)
			})
		}
	}
}

// States that are put together from parts of others are the states that playing
// comes to: there are as many, with as many schedules, which end in the same ways.
func TestComposingFindsTheSame(t *testing.T) {
	long(t)
	for _, c := range []struct {
		lock                        string
		buyers, preemptions, faults int
		hazards                     []string
	}{
		{"setnx-expire-del", 2, -1, 2, []string{"all"}},
		{"exset-excad", 2, -1, 2, []string{"crash", "restart", "lost-reply"}},
		{"redislock", 2, -1, 2, []string{"all"}},
		{"lua-watchdog", 2, -1, 0, []string{"slow-call", "delay"}},
		{"leaky-watchdog", 2, -1, 0, []string{"lost-reply", "expiry"}},
		{"redsync-extend", 2, -1, 0, []string{"delay"}},
		{"redislock-refresh", 2, -1, 2, []string{"crash", "failover", "restart"}},
		{"fenced", 2, -1, 2, []string{"failover", "eviction", "lost-command"}},
		{"setnx-expire-del", 3, -1, 0, []string{"expiry"}},
		{"fenced", 3, -1, 0, []string{"crash"}},
		{"lua-watchdog", 3, 1, 0, []string{"delay"}},
		{"get-then-del", 3, 2, 0, []string{"slow-call"}},
		{"rueidislock", 2, -1, 0, []string{"delay"}},
		{"rueidislock", 2, -1, 0, []string{"eviction"}},
		{"rueidislock", 2, -1, 0, []string{"failover"}},
		{"rueidislock", 2, -1, 0, []string{"crash", "lost-reply"}},
		{"rueidislock", 3, -1, 0, []string{"slow-call"}},
	} {
		t.Run(fmt.Sprint(c.lock, c.buyers, c.preemptions, c.hazards), func(t *testing.T) {
			cs := bounded(t, c.lock, c.buyers, c.preemptions, c.faults, c.hazards)
			composed := explored(t, cs, Config{Workers: 2})
			played := explored(t, cs, Config{Workers: 2, noCompose: true})
			require.True(t, composed.Complete)
			requireSame(t, played, composed)
			require.Equal(t, played.States, composed.States)
			require.Less(t, composed.Runs, played.Runs)
			t.Log(played.States, played.Runs, composed.Runs)
		})
	}
}

// requireSame wants as many schedules, which end in the same ways, and shortest
// counterexamples of the same length.
func requireSame(t *testing.T, want, got *Report) {
	t.Helper()
	require.Equal(t, want.finals, got.finals)
	requireSameFound(t, want, got)
}

// requireSameFound is requireSame without the ends, which processes keep to themselves.
func requireSameFound(t *testing.T, want, got *Report) {
	t.Helper()
	require.Equal(t, want.Counts, got.Counts)
	requireSameExamples(t, want, got)
}

// requireSameExamples wants counterexamples of the same properties and lengths.
func requireSameExamples(t *testing.T, want, got *Report) {
	t.Helper()
	require.Len(t, got.Found, len(want.Found))
	for i, x := range want.Found {
		require.Equal(t, x.Property, got.Found[i].Property)
		require.Len(t, got.Found[i].Steps, len(x.Steps))
	}
}

// Merging rests on this: whatever the way to a state, what can still happen is
// the same. Every schedule is played, and states that look the same are compared
// by how many schedules go on from them, and how those end.
func TestEqualStatesHaveEqualFutures(t *testing.T) {
	long(t)
	for _, c := range [][]string{
		{"setnx-expire-del", "expiry", "crash"}, {"lua-release", "expiry"}, {"lua-watchdog", "slow-call", "crash"},
		{"get-then-del", "delay"}, {"fenced", "failover"}, {"rueidislock", "slow-call"}, {"rueidislock", "crash"},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			g := newGraph(false, false)
			tm := &team{cfg: Config{T: t, Workers: 2, Unreduced: true, recall: true}, c: two(t, kind(t, c[0]), c[1:]...).WithDefaults(), halt: func() {}}
			require.NoError(t, tm.work(func(k *worker) error {
				k.g = g
				return k.exhaust()
			}))
			futures, first := make([]Counts, len(g.nodes)), map[view]int{}
			for i := len(g.nodes) - 1; i >= 0; i-- {
				n := &g.nodes[i]
				if n.ended {
					futures[i].addOutcome(n.bad)
				}
				for _, e := range g.of(n) {
					more := futures[e.to].each()
					for at, what := range futures[i].each() {
						*what.n += *more[at].n
					}
				}
				if j, seen := first[n.key]; !seen {
					first[n.key] = i
				} else {
					require.Equalf(t, futures[j], futures[i], "%v and %v", words(g.path(int32(j))), words(g.path(int32(i))))
				}
			}
			require.Less(t, len(first), len(g.nodes))
		})
	}
}

func TestOneWorkerFindsTheSameAsTwo(t *testing.T) {
	c := two(t, kind(t, "setnx-expire-del"), "crash", "expiry")
	one, more := explored(t, c, Config{Workers: 1}), explored(t, c, Config{Workers: 3})
	require.Equal(t, one.Counts, more.Counts)
	require.Equal(t, one.States, more.States)
	require.Equal(t, one.finals, more.finals)
}

func TestPreemptionBound(t *testing.T) {
	c := two(t, kind(t, "setnx-expire-del"), "slow-call")
	free := explored(t, c, Config{})
	last := 0.0
	for n := range 4 {
		c.Preemptions = n
		bounded := explored(t, c, Config{})
		require.GreaterOrEqual(t, bounded.Counts.All, last, "a looser bound allows more")
		require.LessOrEqual(t, bounded.Counts.All, free.Counts.All)
		last = bounded.Counts.All
		all := explored(t, c, Config{Unreduced: true})
		require.Equal(t, all.Counts, bounded.Counts)
	}
}

func TestFaultsAreBoundedTogether(t *testing.T) {
	c := two(t, kind(t, "setnx-expire-del"), "crash", "lost-reply")
	both := explored(t, c, Config{})
	c.Faults = 1
	one := explored(t, c, Config{})
	require.Less(t, one.Counts.All, both.Counts.All)
	c.Faults = 2
	require.Equal(t, both.Counts, explored(t, c, Config{}).Counts)
}

func TestDrawnSchedulesFindIt(t *testing.T) {
	for _, s := range []Strategy{PCT, Random} {
		t.Run(string(s), func(t *testing.T) {
			r := explored(t, two(t, kind(t, "setnx-expire-del"), "slow-call"), Config{Strategy: s, Workers: 2})
			require.False(t, r.Complete, "what is drawn proves nothing")
			require.EqualValues(t, 1000, r.Sampled.Runs)
			require.Positive(t, r.Sampled.Counts.Oversold)
			x := r.Broke(Oversold)
			require.NotNil(t, x)
			require.False(t, x.Shortest)
			require.LessOrEqual(t, len(x.Steps), 16)
			if s == PCT {
				require.Positive(t, r.Sampled.Bound)
				require.Positive(t, r.Sampled.Chance())
			}
		})
	}
}

// Every lock of the incidents but those that slow calls don't break is caught at
// once: the first schedules that are played are as different as can be.
func TestTheFirstOversellComesEarly(t *testing.T) {
	for _, name := range []string{"setnx-expire-del", "constant-value", "get-then-del", "set-nx-ex", "exset-excad", "fail-open", "lua-release", "redsync", "redislock"} {
		r := explored(t, two(t, kind(t, name), "slow-call"), Config{})
		require.Positivef(t, r.FirstBad, "%s", name)
		require.LessOrEqualf(t, r.FirstBad, int64(20), "%s", name)
		require.Positive(t, r.FirstIn)
	}
}

// What was covered is told, and can be gone on with.
func TestInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	c := two(t, kind(t, "fenced"), "all")
	c.Faults = 2
	var states int
	r, err := Explore(ctx, c, Config{T: t, Strategy: Exhaustive, Progress: func(p Progress) { states = p.States; stop() }})
	require.NoError(t, err)
	require.False(t, r.Complete)
	require.Equal(t, "interrupted", r.Why)
	require.Positive(t, r.Open)
	require.LessOrEqual(t, r.States, 2*states+1000)
	ctx, stop = context.WithCancel(t.Context())
	defer stop()
	again, err := Explore(ctx, c, Config{T: t, Strategy: Exhaustive, Resume: r.Checkpoint, Progress: func(p Progress) {
		if p.States > r.States && p.Runs > r.Runs {
			stop()
		}
	}})
	require.NoError(t, err)
	require.Greater(t, again.States, r.States)
	require.Greater(t, again.Runs, r.Runs)
}

func TestInterruptedBeforeItBegins(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	r, err := Explore(ctx, two(t, kind(t, "fenced"), "none"), Config{T: t, Strategy: Exhaustive})
	require.NoError(t, err)
	require.False(t, r.Complete, "nothing is known")
	require.Equal(t, "interrupted", r.Why)
	require.Zero(t, r.States)
	again, err := Explore(t.Context(), r.Case, Config{T: t, Strategy: Exhaustive, Resume: r.Checkpoint})
	require.NoError(t, err)
	require.True(t, again.Complete)
}

func TestAutoGoesOnWithPCT(t *testing.T) {
	c := two(t, kind(t, "fenced"), "all")
	r := explored(t, c, Config{Strategy: Auto, Budget: 600 * time.Millisecond, Workers: 2})
	require.False(t, r.Complete)
	require.NotNil(t, r.Sampled)
	require.Equal(t, PCT, r.Sampled.Strategy)
	require.NotEmpty(t, r.Checkpoint)
	require.Positive(t, r.Open)
	require.Contains(t, r.Why, "budget")
}

// An interrupted exploration that goes on comes to the same as one that wasn't.
func TestResume(t *testing.T) {
	c := two(t, kind(t, "setnx-expire-del"), "expiry", "crash")
	whole := explored(t, c, Config{})
	var data []byte
	for n := 0; ; n++ {
		require.Less(t, n, 1000)
		r := explored(t, c, Config{Budget: 100 * time.Millisecond, Resume: data})
		if r.Complete {
			require.Equal(t, whole.Counts, r.Counts)
			require.Equal(t, whole.States, r.States)
			break
		}
		data = r.Checkpoint
	}
	if data != nil {
		c.Seed = 2
		_, err := Explore(t.Context(), c, Config{T: t, Resume: data})
		require.ErrorContains(t, err, "of another exploration")
	}
	_, err := Explore(t.Context(), c, Config{T: t, Resume: []byte("nonsense")})
	require.ErrorContains(t, err, "no file of an unfinished exploration")
}
