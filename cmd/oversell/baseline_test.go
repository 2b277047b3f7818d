package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/internal/engine"
	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/reports"
	"github.com/oversell/oversell/result"
)

// saveJSON writes v to a file of its own.
func saveJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), engine.ResultFile)
	require.NoError(t, os.WriteFile(path, data, 0o644))
	return path
}

func outcome(scenario, lock string, v result.Verdict, g result.Gate) result.Run {
	return result.Run{Scenario: scenario, Lock: lock, Verdict: v, Gate: g}
}

func TestReadResults(t *testing.T) {
	t.Parallel()
	doc := saveJSON(t, result.NewDocument([]result.Run{outcome("a", "x", result.OK, result.Pass), outcome("b", "x", result.OK, result.Pass)}))
	lines := filepath.Join(t.TempDir(), "lines.ndjson")
	var text strings.Builder
	require.NoError(t, reports.NDJSON().Write(&text, []result.Run{outcome("c", "x", result.OK, result.Pass), outcome("d", "x", result.OK, result.Pass)}, reports.Options{}))
	require.NoError(t, os.WriteFile(lines, []byte(text.String()), 0o644))

	for path, want := range map[string][]string{doc: {"a", "b"}, filepath.Dir(doc): {"a", "b"}, lines: {"c", "d"}} {
		runs, err := readResults(path)
		require.NoError(t, err)
		var got []string
		for _, r := range runs {
			got = append(got, r.Scenario)
		}
		assert.Equal(t, want, got)
	}
}

func TestBaselinesThatAreNone(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o644))
	text := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(text, []byte("scenario  lock"), 0o644))
	for path, want := range map[string]string{
		"not/there": "--baseline: open not/there: no such file or directory",
		empty:       "--baseline: " + empty + " has no run in it",
		text:        "--baseline: " + text + ": invalid character",
		saveJSON(t, map[string]string{"schema": "oversell.matrix/v1"}): `its schema is "oversell.matrix/v1", not oversell.result/v1 or oversell.run/v1`,
		saveJSON(t, []int{1}): "it holds no results: [1]",
	} {
		o := baselineOptions{Baselines: []string{path}, FailOn: failOnAll}
		_, err := o.baseline()
		assert.ErrorContains(t, err, want)
		assert.NotEmpty(t, hint.Of(err))
		assertCode(t, exitUsage, err)
	}
	for _, o := range []baselineOptions{{FailOn: failOnNew}, {FailOn: "some"}} {
		_, err := o.baseline()
		assertCode(t, exitUsage, err)
	}
}

func TestTheLikestRunOfTheBaselineCounts(t *testing.T) {
	t.Parallel()
	on := func(server, backend string, v result.Verdict) result.Run {
		r := outcome("a", "x", v, result.Fail)
		r.Server, r.Backend = server, backend
		return r
	}
	path := saveJSON(t, result.NewDocument([]result.Run{
		on("Redis 7", "docker", result.Stalled), on("Redis 8", "docker", result.Leaked), on("Redis 8", "process", result.Mismatch),
		outcome("b", "x", result.OK, result.Pass), outcome("b", "x", result.OK, result.Pass),
	}))
	b, err := (&baselineOptions{Baselines: []string{path}, FailOn: failOnAll}).baseline()
	require.NoError(t, err)
	for _, want := range []result.Run{on("Redis 8", "process", result.Mismatch), on("Redis 8", "docker", result.Leaked), on("Redis 7", "embedded", result.Stalled)} {
		assert.Equal(t, want.Verdict, b.find(want).Verdict)
	}
	assert.Equal(t, result.Stalled, b.find(on("Valkey 9", "docker", "")).Verdict, "else whatever is there")
	assert.Nil(t, b.find(outcome("c", "x", "", "")))
	assert.Equal(t, "in the baseline, and not played now: b under x", b.rest())
	assert.Empty(t, (*baseline)(nil).rest())
}

func TestRunAgainstABaseline(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.formats = reports.All()
	h.player.run = func(ctx context.Context, j engine.Job) (result.Run, error) { // everything oversells
		r, err := asClaimed(ctx, j)
		r.Verdict = result.Oversold
		r.Gate = r.Expected.Judge(r.Verdict)
		return r, err
	}
	before := saveJSON(t, result.NewDocument([]result.Run{
		outcome("ttl-expiry", "fenced", result.Oversold, result.Fail),
		outcome("ttl-expiry", "setnx-expire-del", result.OK, result.Fail),
		outcome("flushed", "fenced", result.OK, result.Pass),
	}))
	run := func(args ...string) int {
		return h.exec(t.Context(), append([]string{"run", "--backend", "docker", "--dir", t.TempDir(), "--baseline", before}, args...)...)
	}
	assert.Equal(t, exitViolation, run(), "what was there before still fails")
	assert.Contains(t, h.stdout.String(), "\nAgainst the baseline: 0 new, 1 still, 1 fixed\n"+
		"  still  ttl-expiry, fenced (safe): oversold\n  fixed  ttl-expiry, setnx-expire-del (naive): oversold; ok before\n")
	assert.Contains(t, h.stderr.String(), "in the baseline, and not played now: flushed under fenced\n")

	assert.Equal(t, exitMet, run("--fail-on", "new"))
	assert.Contains(t, h.stdout.String(), "  still  ttl-expiry, fenced (safe): oversold; accepted, because it was there before\n")
	assert.Contains(t, h.stdout.String(), "Gate: PASS — naive was expected to break and did: oversold; safe came out oversold as in the\n  baseline, which is accepted.\n")

	assert.Equal(t, exitViolation, run("--fail-on", "new", "sentinel-failover"), "and what is new does")
	assert.Contains(t, h.stdout.String(), "  new    sentinel-failover, fenced (safe): oversold; not in the baseline\n")

	assert.Equal(t, exitMet, run("--fail-on", "new", "--output", "json"))
	var doc result.Document
	require.NoError(t, json.Unmarshal(h.stdout.Bytes(), &doc))
	assert.Equal(t, result.Pass, doc.Gate)
	assert.Equal(t, result.Fail, doc.Runs[1].Gate, "the run's own gate stays what it is")
	assert.Equal(t, &result.Baseline{State: result.Still, Verdict: result.Oversold, Gate: result.Fail, Accepted: true}, doc.Runs[1].Baseline)

	assert.Equal(t, exitUsage, run("--all"))
	assert.Equal(t, exitUsage, run("--sweep", "ttl=1s,2s"))
}
