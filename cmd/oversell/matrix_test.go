package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/internal/engine"
	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/internal/matrix"
	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/result"
)

// matrixHarness knows which of its locks are broken by design.
func matrixHarness(t *testing.T) *harness {
	h := newHarness(t)
	h.groups = map[string][]locks.Kind{naiveGroup: h.kinds[:1], safeGroup: h.kinds[1:]}
	return h
}

func readMatrixFile(t *testing.T, dir string) *matrix.Matrix {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*-matrix", matrixFile))
	require.NoError(t, err)
	require.Len(t, found, 1)
	data, err := os.ReadFile(found[0])
	require.NoError(t, err)
	m, err := matrix.Read(data)
	require.NoError(t, err)
	return m
}

func TestMatrixOfEverything(t *testing.T) {
	t.Parallel()
	h := matrixHarness(t)
	dir := t.TempDir()
	code := h.exec(t.Context(), "run", "--all", "--seed", "7", "--dir", dir, "--output", "text", "--output", "markdown="+filepath.Join(dir, "m.md"), "--output", "junit="+filepath.Join(dir, "m.xml"))
	assert.Equal(t, exitMet, code, "stderr: %s", &h.stderr)
	assert.Contains(t, h.stdout.String(), "3 locks x 2 scenarios on docker: 6 cells, 6 played, 0 skipped")
	assert.Contains(t, h.stdout.String(), "Gate: PASS — all 6 cells came out as the locks claim.\n")
	assert.Contains(t, h.stdout.String(), "To repeat:\noversell run --all --backend docker --seed 7 --dir "+dir+"\n")
	require.Len(t, h.player.jobs, 6)
	assert.Equal(t, "oversell run ttl-expiry --lock naive --backend docker --seed 7", h.player.jobs[0].Command, "each cell by itself")
	assert.True(t, h.player.config.Reuse)
	markdown, err := os.ReadFile(filepath.Join(dir, "m.md"))
	require.NoError(t, err)
	assert.Contains(t, string(markdown), "| `ttl-expiry` | slow-call | **oversold** |\n")
	assert.FileExists(t, filepath.Join(dir, "m.xml"))

	m := readMatrixFile(t, dir)
	assert.Equal(t, result.Pass, m.Gate)
	assert.True(t, m.Whole)
	assert.Equal(t, []string{"naive", "safe", "safe"}, []string{m.Locks[0].Group, m.Locks[1].Group, m.Locks[2].Group})
}

func TestMatrixIsGatedBothWays(t *testing.T) {
	t.Parallel()
	for name, odd := range map[string]result.Verdict{"fenced": result.Oversold, "setnx-expire-del": result.OK} {
		h := matrixHarness(t)
		h.player.run = func(ctx context.Context, j engine.Job) (result.Run, error) {
			r, err := asClaimed(ctx, j)
			if j.Kind.Name == name && j.Scenario.Name == "ttl-expiry" {
				r.Verdict, r.Gate = odd, r.Expected.Judge(odd)
			}
			return r, err
		}
		assert.Equal(t, exitViolation, h.exec(t.Context(), "run", "--all", "--dir", t.TempDir()), name)
		assert.Contains(t, h.stdout.String(), string(odd)+" !")
		assert.Contains(t, h.stderr.String(), "ttl-expiry  ")
	}
}

func TestMatrixSkipsWithTheReason(t *testing.T) {
	t.Parallel()
	h := matrixHarness(t)
	h.player.unavailable = map[string]error{
		"sentinel-failover": &engine.Unavailable{Scenario: "sentinel-failover", Lock: "x", Why: errors.New("no sentinels here")},
	}
	assert.Equal(t, exitMet, h.exec(t.Context(), "run", "--all", "--dir", t.TempDir(), "--lock", "naive,safe"))
	assert.Contains(t, h.stdout.String(), "  sentinel-failover, 2 skipped: no sentinels here\n")
	require.Len(t, h.player.jobs, 2)

	h.player.unavailable["ttl-expiry"] = h.player.unavailable["sentinel-failover"]
	assert.Equal(t, exitEnvironment, h.exec(t.Context(), "run", "--all", "--dir", t.TempDir()), "nothing at all is no pass")
}

func TestMatrixGoesOnAfterAnInterrupt(t *testing.T) {
	t.Parallel()
	h := matrixHarness(t)
	dir := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	h.player.run = func(ctx context.Context, j engine.Job) (result.Run, error) {
		switch len(h.player.jobs) {
		case 2: // nothing is concluded from the second cell
			r, err := asClaimed(ctx, j)
			r.Verdict, r.Gate = result.Inconclusive, result.GateUnresolved
			return r, err
		case 4:
			cancel(errInterrupted)
			<-ctx.Done()
			return result.Run{}, ctx.Err()
		}
		return asClaimed(ctx, j)
	}
	code := h.exec(ctx, "run", "--all", "--dir", dir, "--stock", "40", "--seed", "7", "--redis", "7.0", "--backend", "docker")
	assert.Equal(t, exitInterrupted, code)
	assert.Empty(t, h.stdout.String(), "half a result is no result")
	found, err := filepath.Glob(filepath.Join(dir, "*-matrix"))
	require.NoError(t, err)
	assert.Contains(t, h.stderr.String(), "kept: "+found[0]+"; oversell run --resume "+found[0]+" goes on\n")
	n := readMatrixFile(t, dir).Count()
	assert.Equal(t, []int{3, 1, 3}, []int{n.Played, n.Inconclusive, n.Untouched})

	again := matrixHarness(t)
	assert.Equal(t, exitMet, again.exec(t.Context(), "run", "--resume", found[0], "--output", "text", "--output", "json="+filepath.Join(dir, "m.json")))
	var played []string
	for _, j := range again.player.jobs {
		played = append(played, j.Scenario.Name+" "+j.Kind.Name)
		assert.Equal(t, 40, j.Scenario.Load.Stock, "as it was begun")
		assert.Equal(t, int64(7), j.Seed)
		assert.Equal(t, "7.0", j.Redis)
	}
	assert.Equal(t, []string{
		"ttl-expiry lua-watchdog", "sentinel-failover setnx-expire-del", "sentinel-failover lua-watchdog", "sentinel-failover fenced",
	}, played, "what came to a verdict isn't played again")
	assert.Contains(t, again.stdout.String(), "6 played")
	assert.Contains(t, again.stdout.String(), "oversell run --all --backend docker --redis 7.0 --stock 40 --seed 7 --dir "+dir+"\n")
	assert.FileExists(t, filepath.Join(dir, "m.json"))

	assert.Equal(t, exitMet, again.exec(t.Context(), "run", "--resume", found[0]), "a finished one is shown again")
	assert.Len(t, again.player.jobs, 4)
}

func TestMatrixOutlivesACellThatBreaksDown(t *testing.T) {
	t.Parallel()
	h := matrixHarness(t)
	dir := t.TempDir()
	broken := func(_ context.Context, _ engine.Job) (result.Run, error) {
		return result.Run{}, hint.Wrap(errors.New("no space left"), "make some")
	}
	h.player.run = func(ctx context.Context, j engine.Job) (result.Run, error) {
		if len(h.player.jobs) == 2 {
			return broken(ctx, j)
		}
		return asClaimed(ctx, j)
	}
	assert.Equal(t, exitEnvironment, h.exec(t.Context(), "run", "--all", "--dir", dir))
	assert.Contains(t, h.stdout.String(), "ttl-expiry under lua-watchdog failed: no space left\n")
	assert.Contains(t, h.stdout.String(), "Gate: INCONCLUSIVE")
	assert.Contains(t, h.stderr.String(), "hint: oversell run --resume ")
	assert.Len(t, h.player.jobs, 6)

	h = matrixHarness(t)
	h.player.run = broken
	assert.Equal(t, exitEnvironment, h.exec(t.Context(), "run", "--all", "--dir", t.TempDir()))
	assert.Len(t, h.player.jobs, manyFailures, "a machine that can't is not asked for ever")
	assert.Contains(t, h.stderr.String(), "error: 3 cells broke down one after the other: ")
}

func TestMatrixInParallel(t *testing.T) {
	t.Parallel()
	h := matrixHarness(t)
	var now, most atomic.Int32
	both := make(chan struct{})
	h.newEngine = func(engine.Config) player {
		return parallelPlayer{func(ctx context.Context, j engine.Job) (result.Run, error) {
			defer now.Add(-1)
			if n := now.Add(1); n == 2 && most.CompareAndSwap(0, 2) {
				close(both)
			}
			select { // the first two wait for each other
			case <-both:
			case <-time.After(time.Minute):
			}
			return asClaimed(ctx, j)
		}}
	}
	assert.Equal(t, exitMet, h.exec(t.Context(), "run", "--all", "--parallel", "2", "--dir", t.TempDir()))
	assert.Equal(t, int32(2), most.Load())
}

type parallelPlayer struct {
	run func(context.Context, engine.Job) (result.Run, error)
}

func (parallelPlayer) Available(engine.Job) error  { return nil }
func (parallelPlayer) Close(context.Context) error { return nil }
func (p parallelPlayer) Run(ctx context.Context, j engine.Job) (result.Run, error) {
	return p.run(ctx, j)
}

func TestModesRefuseWhatDoesntGoTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := filepath.Join(dir, "old")
	require.NoError(t, os.Mkdir(old, 0o755))
	m := matrix.New(nil, nil, []string{""})
	var err error
	m.Options, err = json.Marshal(savedOptions{Scenarios: []string{"gone"}, Locks: []string{"naive"}, Backend: "docker", Trials: 1})
	require.NoError(t, err)
	require.NoError(t, writeFile(filepath.Join(old, matrixFile), m.JSON))
	for _, tc := range []struct {
		args []string
		text string
	}{
		{[]string{"--all", "--sweep", "ttl=1s"}, "--sweep and --all don't go together"},
		{[]string{"--all", "--expect", "naive=ok"}, "--expect and --all don't go together"},
		{[]string{"--sweep", "ttl=1s", "--expect", "naive=ok"}, "--expect and --sweep don't go together"},
		{[]string{"--sweep", "ttl=1s", "--ttl", "2s"}, "--sweep ttl and --ttl set the same number"},
		{[]string{"--sweep", "clients=6", "--buyers", "7"}, "--sweep clients and --buyers set the same number"},
		{[]string{"--sweep", "ttl"}, `--sweep: "ttl" is not NAME=VALUES`},
		{[]string{"--sweep", "ttl=1ms..1s"}, "--sweep ttl: --ttl 1ms is too short for ttl-expiry: at least 50ms"},
		{[]string{"--sweep", "pause=1s"}, "--sweep pause: scenario ttl-expiry: nothing in it stands still: paused-holder and frozen-server have such pauses"},
		{[]string{"--sweep", "ttl=1s", "--output", "junit"}, `unknown output format "junit"`},
		{[]string{"--parallel", "2"}, "--parallel is for --all and --resume"},
		{[]string{"--all", "--parallel", "0"}, "--parallel must be at least 1, got 0"},
		{[]string{"--resume", old, "--stock", "3"}, "--resume goes on with what the matrix was begun with: leave out --stock"},
		{[]string{"ttl-expiry", "--resume", old}, "--resume goes on with what the matrix was begun with: leave out SCENARIO"},
		{[]string{"--resume", old}, old + ` can't go on: unknown scenario "gone"`},
		{[]string{"--resume", dir}, "--resume " + dir + ": open " + dir + "/matrix.json: no such file or directory"},
		{[]string{"--redis", "7.0,7.0"}, "--redis names 7.0 twice"},
		{[]string{"--redis", "7.0,8.7"}, `unknown value of --redis "8.7"`},
		{[]string{"--time-scale", "0"}, "--time-scale must be more than 0 and at most 1000, got 0"},
		{[]string{"--time-scale", "25"}, "--ttl 12ms is too short for ttl-expiry: at least 50ms"},
		{[]string{"-f", "nowhere.yaml"}, "--file: open nowhere.yaml: no such file or directory"},
	} {
		h := matrixHarness(t)
		args := append([]string{"run"}, tc.args...)
		if tc.args[0] != "--resume" && tc.args[0] != "ttl-expiry" {
			args = append(args, "--dir", dir)
		}
		assert.Equal(t, exitUsage, h.exec(t.Context(), args...), "%v: %s", tc.args, &h.stderr)
		assert.Contains(t, h.stderr.String(), "error: "+tc.text+"\n", "%v", tc.args)
		assert.Empty(t, h.player.jobs)
	}
}

func TestMatrixBoundsTheLoad(t *testing.T) {
	t.Parallel()
	h := matrixHarness(t)
	for i := range h.scenarios {
		h.scenarios[i].Load.Stock, h.scenarios[i].Load.Buyers = 100, 200
	}
	h.scenarios[1].Load.Stock, h.scenarios[1].Load.Buyers = 30, 24
	code := h.exec(t.Context(), "run", "--all", "--lock", "naive", "--dir", t.TempDir(), "--stock", "40", "--buyers", "80", "--seed", "7")
	require.Equal(t, exitMet, code, "stderr: %s", &h.stderr)
	require.Len(t, h.player.jobs, 2)
	for _, j := range h.player.jobs {
		wanted := "--stock 40 --buyers 80"
		if j.Scenario.Name == h.scenarios[1].Name {
			wanted = "--stock 30 --buyers 24"
		}
		assert.Contains(t, j.Command, wanted, "what repeats a cell says what was played")
	}
}

// TestHeavyCellsAreAlone lets every cell wait for company, which only light ones get.
func TestHeavyCellsAreAlone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		buyers int
		most   int64
	}{"light": {20, 2}, "heavy": {crowd + 1, 1}} {
		h := matrixHarness(t)
		for i := range h.scenarios {
			h.scenarios[i].Load.Buyers = tc.buyers
		}
		var going, most atomic.Int64
		h.player.run = func(ctx context.Context, j engine.Job) (result.Run, error) {
			n := going.Add(1)
			defer going.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			for range 100 {
				runtime.Gosched()
			}
			return asClaimed(ctx, j)
		}
		require.Equal(t, exitMet, h.exec(t.Context(), "run", "--all", "--parallel", "2", "--dir", t.TempDir()), "%s: %s", name, &h.stderr)
		assert.LessOrEqual(t, most.Load(), tc.most, name)
	}
}
