package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/internal/engine"
	"github.com/oversell/oversell/reports"
	"github.com/oversell/oversell/result"
)

func onGitHub(t *testing.T) (*harness, string) {
	t.Helper()
	h := newHarness(t)
	h.formats = reports.All()
	summary := filepath.Join(t.TempDir(), "summary.md")
	h.environment = map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": summary}
	return h, summary
}

func TestTheSummaryOfTheJobIsAppendedTo(t *testing.T) {
	t.Parallel()
	h, summary := onGitHub(t)
	require.NoError(t, os.WriteFile(summary, []byte("what was there\n"), 0o644))
	for range 2 {
		assert.Equal(t, exitMet, h.exec(t.Context(), "run", "--backend", "docker", "--dir", t.TempDir()))
	}
	got, err := os.ReadFile(summary)
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(got), "what was there\n\n## oversell: PASS\n"))
	assert.Equal(t, 2, strings.Count(string(got), "\n## oversell: PASS\n"))
	assert.NotContains(t, h.stderr.String(), "::error")
	assert.NotContains(t, h.stdout.String(), "##", "stdout has what was asked for")
}

func TestTheSummaryStaysWithinBounds(t *testing.T) {
	t.Parallel()
	h, summary := onGitHub(t)
	for _, size := range []int{maxSummary - 200, maxSummary, maxSummary + 10} {
		require.NoError(t, os.WriteFile(summary, make([]byte, size), 0o644))
		assert.Equal(t, exitMet, h.exec(t.Context(), "run", "--backend", "docker", "--dir", t.TempDir()))
		info, err := os.Stat(summary)
		require.NoError(t, err)
		if size < maxSummary {
			assert.LessOrEqual(t, info.Size(), int64(maxSummary))
			assert.Greater(t, info.Size(), int64(size))
		} else {
			assert.Equal(t, int64(size), info.Size())
			assert.Contains(t, h.stderr.String(), "warning: the summary of the job has nothing about this: "+summary+" is full")
		}
	}
	h.environment["GITHUB_STEP_SUMMARY"] = filepath.Join(summary, "below-a-file")
	assert.Equal(t, exitMet, h.exec(t.Context(), "run", "--backend", "docker", "--dir", t.TempDir()), "a missing summary changes no exit code")
	assert.Contains(t, h.stderr.String(), "warning: the summary of the job has nothing about this: ")
}

func TestGatesThatArentMetAreAnnotated(t *testing.T) {
	t.Parallel()
	h, _ := onGitHub(t)
	h.player.run = func(ctx context.Context, j engine.Job) (result.Run, error) {
		r, err := asClaimed(ctx, j)
		r.Verdict, r.Gate = result.OK, r.Expected.Judge(result.OK)
		return r, err
	}
	assert.Equal(t, exitViolation, h.exec(t.Context(), "run", "--backend", "docker", "--dir", t.TempDir(), "--seed", "7"))
	want := "::error title=oversell%3A ttl-expiry%2C setnx-expire-del (naive)%3A ok::naive was expected to break and came out ok: the harness failed to provoke it%0Asold 0 of 0; 0 left%0ATo repeat: oversell run"
	assert.Contains(t, h.stderr.String(), "\n"+want)
	assert.Equal(t, 1, strings.Count(h.stderr.String(), "::error"))

	h.environment["GITHUB_ACTIONS"] = ""
	assert.Equal(t, exitViolation, h.exec(t.Context(), "run", "--backend", "docker", "--dir", t.TempDir()))
	assert.NotContains(t, h.stderr.String(), "::error")
}

func TestAnnotations(t *testing.T) {
	t.Parallel()
	broken := func(n int) []result.Run {
		var runs []result.Run
		for i := range n {
			runs = append(runs, outcome("s", fmt.Sprintf("lock-%d", i), result.Oversold, result.Fail), outcome("s", "met", result.OK, result.Pass))
		}
		return runs
	}
	assert.Empty(t, annotations(broken(0)))
	assert.Len(t, annotations(broken(10)), 10)
	twelve := annotations(broken(12))
	assert.Len(t, twelve, maxAnnotations)
	assert.Contains(t, twelve[8], "lock-8")
	assert.Equal(t, "::error title=oversell::3 more gates are not met; the summary of the job and the reports have them all", twelve[9])

	known := outcome("s", "l", result.Oversold, result.Fail)
	known.Baseline = &result.Baseline{State: result.Still, Accepted: true}
	assert.Empty(t, annotations([]result.Run{known}))
	assert.Len(t, annotations([]result.Run{outcome("s", "l", result.Inconclusive, result.GateUnresolved)}), 1)

	nasty := outcome("a,b:c%\n::set-output x", "l\r\n::error::", result.Oversold, result.Fail)
	nasty.Command = "oversell run 100%\n::stop-commands::x"
	lines := annotations([]result.Run{nasty})
	require.Len(t, lines, 1)
	assert.NotContains(t, lines[0], "\n")
	assert.NotContains(t, lines[0], "\r")
	title, text, _ := strings.Cut(strings.TrimPrefix(lines[0], "::error title="), "::")
	assert.Equal(t, "oversell%3A a%2Cb%3Ac%25 %3A%3Aset-output x%2C l  %3A%3Aerror%3A%3A%3A oversold", title)
	assert.Contains(t, text, "To repeat: oversell run 100%25 ::stop-commands::x")
}

// Whoever follows a run reads each result as soon as it is there.
func TestLinesAreWrittenWhileRunsGoOn(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.formats = reports.All()
	file := filepath.Join(t.TempDir(), "sub", "lines.ndjson")
	var onStdout, inFile []int
	h.player.run = func(ctx context.Context, j engine.Job) (result.Run, error) {
		onStdout = append(onStdout, strings.Count(h.stdout.String(), "\n"))
		data, err := os.ReadFile(file)
		if err == nil {
			inFile = append(inFile, strings.Count(string(data), "\n"))
		}
		return asClaimed(ctx, j)
	}
	run := []string{"run", "all", "--backend", "docker", "--dir", t.TempDir()}
	assert.Equal(t, exitMet, h.exec(t.Context(), append(run, "--output", "ndjson")...))
	assert.Equal(t, []int{0, 1, 2, 3}, onStdout)
	assert.Equal(t, 4, strings.Count(h.stdout.String(), "\n"))

	assert.Equal(t, exitMet, h.exec(t.Context(), append(run, "--output", "ndjson="+file, "--output", "text")...))
	assert.Equal(t, []int{0, 1, 2, 3}, inFile)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, 4, strings.Count(string(data), "\n"), "and not once more at the end")
	assert.Contains(t, h.stdout.String(), "Gate: PASS")

	// What was judged before a run broke down has been told.
	h.player.run = func(ctx context.Context, j engine.Job) (result.Run, error) {
		if j.Kind.Name == "fenced" {
			return result.Run{}, fmt.Errorf("the machine is on fire")
		}
		return asClaimed(ctx, j)
	}
	assert.Equal(t, exitInternal, h.exec(t.Context(), append(run, "--output", "ndjson="+file)...))
	data, err = os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(string(data), "\n"))
}
