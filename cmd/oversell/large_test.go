package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/internal/engine"
	"github.com/oversell/oversell/internal/historytest"
	"github.com/oversell/oversell/result"
)

// largeFolder is a judged run's folder with a history of at least so many events.
func largeFolder(t testing.TB, events, violations int) string {
	t.Helper()
	h := historytest.Large(events, violations).History()
	dir := t.TempDir()
	require.NoError(t, history.WritePlan(dir, h.Plan))
	f, err := os.Create(filepath.Join(dir, history.EventsFile))
	require.NoError(t, err)
	w := bufio.NewWriter(f)
	enc := json.NewEncoder(w)
	for _, e := range h.Events {
		require.NoError(t, enc.Encode(e))
	}
	require.NoError(t, w.Flush())
	require.NoError(t, f.Close())
	r := result.Run{Scenario: h.Plan.Scenario, Lock: h.Plan.Lock, Verdict: result.Oversold, Gate: result.Pass, Stock: result.Stock{Initial: h.Plan.Stock}}
	data, err := json.Marshal(result.NewDocument([]result.Run{r}))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, engine.ResultFile), data, 0o644))
	return dir
}

// A tenth of the largest history that has to be possible; the benchmark takes
// all of it.
func TestThePageOfALargeHistory(t *testing.T) {
	t.Parallel()
	dir := largeFolder(t, 100_000, 10)
	h := newHarness(t)
	require.Equal(t, exitMet, h.exec(t.Context(), "report", dir))
	assert.Contains(t, h.stdout.String(), pageFile)
	page, err := os.Stat(filepath.Join(dir, pageFile))
	require.NoError(t, err)
	assert.Less(t, page.Size(), int64(5_000_000))
}

// BenchmarkLargePage makes the page of a history of a million events. Its
// memory is best seen from outside: /usr/bin/time -v oversell report DIR.
func BenchmarkLargePage(b *testing.B) {
	dir := largeFolder(b, 1_000_000, 30)
	a := &app{out: io.Discard, notes: &notes{w: io.Discard}, env: func(string) string { return "" }}
	for b.Loop() {
		require.NoError(b, a.report(b.Context(), &reportOptions{Paths: []string{dir}, Color: "never"}))
	}
}
