package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/internal/engine"
	"github.com/oversell/oversell/internal/sweep"
	"github.com/oversell/oversell/result"
)

// belowHalfASecond is a world in which locks that don't withstand the hazard
// oversell with a TTL below 500 ms.
func belowHalfASecond(ctx context.Context, j engine.Job) (result.Run, error) {
	r, err := asClaimed(ctx, j)
	r.Server, r.TTLMS, r.Calls = "Redis 7.0.15", float64(j.Scenario.Load.TTL.Milliseconds()), result.Calls{Count: 100, P99MS: 450}
	if r.Verdict == result.Oversold && j.Scenario.Load.TTL < 500*time.Millisecond {
		r.Oversold = 10
	} else {
		r.Verdict = result.OK
	}
	return r, err
}

func TestSweepDrawsCurvesAndFindsTheThreshold(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.player.run = belowHalfASecond
	dir := t.TempDir()
	code := h.exec(t.Context(), "run", "--sweep", "ttl=100ms,300ms,600ms,1s", "--seed", "7", "--dir", dir)
	assert.Equal(t, exitMet, code, "stderr: %s", &h.stderr)
	out := h.stdout.String()
	assert.Contains(t, out, "ttl-expiry, setnx-expire-del (naive) on Redis 7.0.15\n")
	assert.Contains(t, out, "  Threshold: oversells with a ttl up to 300ms, and not from 600ms on.\n")
	assert.Contains(t, out, "  Advice: the P99 of the calls was 450ms, 1.5 x the TTL of 300ms. A TTL should be 3 times that, 1.4s at least;")
	assert.Contains(t, out, "  Threshold: no value of ttl oversells: 0 of 12: at most 26 % at 95 %.\n")
	assert.Contains(t, out, "oversell run ttl-expiry --lock naive,safe --backend docker --sweep ttl=100ms,300ms,600ms,1s --trials 3 --seed 7 --dir "+dir+"\n")
	require.Len(t, h.player.jobs, 2*4*sweepTrials)
	assert.Equal(t, []int64{7, 8, 9}, []int64{h.player.jobs[0].Seed, h.player.jobs[1].Seed, h.player.jobs[2].Seed})

	found, err := filepath.Glob(filepath.Join(dir, "*-sweep-ttl", "sweep.json"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	data, err := os.ReadFile(found[0])
	require.NoError(t, err)
	var r sweep.Report
	require.NoError(t, json.Unmarshal(data, &r))
	assert.Equal(t, []float64{300, 600}, []float64{r.Curves[0].Threshold.Sells, r.Curves[0].Threshold.Holds})
	assert.FileExists(t, filepath.Join(filepath.Dir(found[0]), "sweep.csv"))
	assert.Equal(t, filepath.Dir(found[0]), h.player.config.Dir, "its runs are in its folder")
}

func TestSweepHoldsLocksToTheirClaims(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.player.run = func(ctx context.Context, j engine.Job) (result.Run, error) {
		r, err := belowHalfASecond(ctx, j)
		if j.Kind.Name == "fenced" && j.Scenario.Load.TTL == 100*time.Millisecond {
			r.Verdict, r.Oversold = result.Oversold, 1
		}
		return r, err
	}
	args := []string{"run", "--sweep", "ttl=100ms,1s", "--trials", "1", "--dir", t.TempDir(), "--output", "csv"}
	assert.Equal(t, exitViolation, h.exec(t.Context(), args...))
	assert.Contains(t, h.stdout.String(), "ttl-expiry,fenced,Redis 7.0.15,ttl,100,1,0,1,")
	h.player.run = func(ctx context.Context, j engine.Job) (result.Run, error) {
		r, err := belowHalfASecond(ctx, j)
		r.Verdict = result.Inconclusive
		return r, err
	}
	assert.Equal(t, exitInconclusive, h.exec(t.Context(), args...))
}

func TestSweepThatCantBePlayed(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.player.run = func(context.Context, engine.Job) (result.Run, error) {
		return result.Run{}, &engine.Unavailable{Scenario: "ttl-expiry", Lock: "x", Why: errors.New("no module")}
	}
	args := []string{"run", "--sweep", "ttl=100ms,1s", "--dir", t.TempDir()}
	assert.Equal(t, exitEnvironment, h.exec(t.Context(), args...))
	assert.Contains(t, h.stderr.String(), "skipped ttl-expiry under fenced: scenario ttl-expiry, lock x: not available here: no module\n")

	h.player.run = func(context.Context, engine.Job) (result.Run, error) { return result.Run{}, errors.New("it died") }
	assert.Equal(t, exitInternal, h.exec(t.Context(), args...))
	assert.Contains(t, h.stderr.String(), "kept: ")
	assert.Empty(t, h.stdout.String())
}
