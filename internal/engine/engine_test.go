package engine

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
	"github.com/oversell/oversell/scenarios"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWantsDealsEverythingEvenly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := scenarios.Load{
			Stock:     rapid.IntRange(1, 300).Draw(t, "stock"),
			Instances: rapid.IntRange(1, 20).Draw(t, "instances"),
			Requests:  rapid.IntRange(0, 700).Draw(t, "requests"),
		}
		l.Buyers = rapid.IntRange(l.Instances, 400).Draw(t, "buyers")
		total, fewest, most := 0, 1<<30, 0
		dealt := wants(l)
		require.Len(t, dealt, l.Instances)
		for _, buyers := range dealt {
			for _, n := range buyers {
				require.Positive(t, n, "a buyer who wants nothing isn't there")
				total += n
				fewest, most = min(fewest, n), max(most, n)
			}
		}
		require.Equal(t, l.Wanted(), total)
		require.LessOrEqual(t, most-fewest, 1)
	})
}

func TestDecidePicksTheTrialThatDecidesTheGate(t *testing.T) {
	run := func(g result.Gate, v result.Verdict, seed int64) result.Run {
		return result.Run{Gate: g, Verdict: v, Seed: seed, Trials: 1}
	}
	r := decide([]result.Run{
		run(result.Pass, result.Oversold, 1), run(result.Fail, result.OK, 2), run(result.Pass, result.Mismatch, 3), run(result.Fail, result.OK, 4),
	})
	require.Equal(t, int64(2), r.Seed, "nothing is retried away")
	require.Equal(t, result.Fail, r.Gate)
	require.Equal(t, 4, r.Trials)
	require.Equal(t, 2, r.Violations)
	require.Equal(t, map[result.Verdict]int{result.Oversold: 1, result.Mismatch: 1, result.OK: 2}, r.Verdicts)
	require.InDelta(t, 0.5, r.Rate.Share, 1e-9)
}

func TestOneViolationInManyFailsTheGate(t *testing.T) {
	trials := make([]result.Run, 300)
	for i := range trials {
		trials[i] = result.Run{Gate: result.Pass, Verdict: result.OK, Seed: int64(i)}
	}
	r := decide(trials)
	require.Equal(t, result.Pass, r.Gate)
	require.InDelta(t, 0.0122, r.Rate.High, 1e-4, "0 of 300 is not never")
	require.Zero(t, r.Rate.Low)

	trials[137].Gate, trials[137].Verdict = result.Fail, result.Oversold
	trials[200].Gate, trials[200].Verdict = result.GateUnresolved, result.Inconclusive
	r = decide(trials)
	require.Equal(t, result.Fail, r.Gate)
	require.Equal(t, int64(137), r.Seed)
	require.Equal(t, []int{300, 1, 1}, []int{r.Trials, r.Violations, r.Inconclusive})
	require.InDelta(t, 1.0/299, r.Rate.Share, 1e-9, "who says nothing isn't counted")
}

func TestNoTwoTrialsSellTheSameArticle(t *testing.T) {
	seen := map[string]bool{}
	for _, redis := range []string{"", "7.0", "8.0"} {
		for trial := range 3 {
			name := sku(Job{Redis: redis}, int64(trial), trial+1)
			require.False(t, seen[name], name)
			seen[name] = true
		}
	}
}

func TestRunDirectoriesDontClash(t *testing.T) {
	base := filepath.Join(t.TempDir(), "runs")
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	seen := map[string]bool{}
	for range 3 {
		dir, err := newRunDir(base, "ttl-expiry", "naive", now)
		require.NoError(t, err)
		require.False(t, seen[dir])
		seen[dir] = true
		latest, err := os.Readlink(filepath.Join(base, "latest"))
		require.NoError(t, err)
		require.Equal(t, filepath.Base(dir), latest)
	}
	_, err := newRunDir("/dev/null/runs", "a", "b", now)
	require.Error(t, err)
}

func TestWatcherFollowsTheRun(t *testing.T) {
	w := newWatcher(Progress{Left: 100})
	for _, e := range []history.Event{
		{Kind: history.Acquired, Purchase: "1.1.1"},
		{Kind: history.Acquired, Purchase: "2.1.1"},
		{Kind: history.LostNoticed, Purchase: "1.1.1"},
		{Kind: history.ReleaseStart, Purchase: "1.1.1"},
		{Kind: history.Acquired, Purchase: "12.1.1"},
		{Kind: history.Committed, Purchase: "2.1.1", Units: 99, At: time.Second},
	} {
		w.see(e)
	}
	p := w.glance(2 * time.Second)
	require.Equal(t, 2, p.Holders)
	require.Equal(t, 1, p.Sold)
	require.Equal(t, 99, p.Left)
	require.Equal(t, time.Second, w.lastSale())
	w.see(history.Event{Kind: history.InstanceExited, Instance: 12})
	require.Equal(t, 1, w.glance(0).Holders, "the dead hold nothing")
}
