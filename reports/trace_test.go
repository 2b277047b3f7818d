package reports_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/reports"
	"github.com/oversell/oversell/result"
)

type traced struct {
	Name, Ph string
	TS, Dur  float64
	PID, TID int
	Args     map[string]any
}

func traceOf(t *testing.T, runs ...result.Run) []traced {
	t.Helper()
	var doc struct{ TraceEvents []traced }
	require.NoError(t, json.Unmarshal([]byte(write(t, reports.Trace(), runs, reports.Options{})), &doc))
	return doc.TraceEvents
}

// twoInside is a run with a history: two instances inside at the same time.
func twoInside(t *testing.T) result.Run {
	t.Helper()
	r := with(naive(), func(r *result.Run) { r.Dir = t.TempDir() })
	f, err := os.Create(filepath.Join(r.Dir, history.EventsFile))
	require.NoError(t, err)
	defer f.Close()
	rec := history.NewRecorder(f, func() time.Duration { return time.Second }, nil)
	for _, e := range []history.Event{
		{At: 1, Kind: history.InstanceStarted, Instance: 1},
		{At: 1, Kind: history.InstanceStarted, Instance: 2},
		{At: 1, Kind: history.InstanceStarted, Instance: 3},
		{At: 10, Kind: history.WireAcquired, Instance: 1, Server: "redis", Command: "SETNX", Done: true},
		{At: 11, Kind: history.Acquired, Instance: 1, Buyer: 4, Purchase: "1.4.1"},
		{At: 12, Kind: history.CallStart, Instance: 1, Buyer: 4, Purchase: "1.4.1"},
		{At: 14, Kind: history.FaultInjected, Step: 1, Fault: "slow-call", Text: "the call took long", Instance: 1},
		{At: 15, Kind: history.Acquired, Instance: 2, Buyer: 1, Purchase: "2.1.1"},
		{At: 16, Kind: history.CallEnd, Instance: 1, Buyer: 4, Purchase: "1.4.1"},
		{At: 17, Kind: history.Committed, Instance: 1, Buyer: 4, Purchase: "1.4.1", Units: 99, Before: 100},
		{At: 18, Kind: history.MachineStalled, Instance: 1, Took: 5 * time.Millisecond},
		{At: 18, Kind: history.ReleaseStart, Instance: 1, Buyer: 4, Purchase: "1.4.1"},
		{At: 19, Kind: history.FaultHealed, Step: 1, Fault: "slow-call"},
		{At: 20, Kind: history.CommitRefused, Instance: 2, Buyer: 1, Purchase: "2.1.1"},
		{At: 30, Kind: history.RunEnded},
	} {
		e.At *= time.Millisecond
		rec.Record(e)
	}
	require.NoError(t, rec.Flush())
	return r
}

func TestTraceHasATrackForEachInstance(t *testing.T) {
	t.Parallel()
	events := traceOf(t, twoInside(t), twoInside(t))
	var tracks []string
	for _, e := range events {
		if e.Name == "thread_name" && e.PID == 2 {
			tracks = append(tracks, e.Args["name"].(string))
		}
	}
	slices.Sort(tracks)
	assert.Equal(t, []string{"faults and load", "instance 1", "instance 2", "instance 3", "server redis"}, tracks)

	find := func(name string) traced {
		i := slices.IndexFunc(events, func(e traced) bool { return e.Name == name && e.PID == 1 })
		require.GreaterOrEqual(t, i, 0, name)
		return events[i]
	}
	held := find("held by buyer 4")
	assert.Equal(t, traced{"held by buyer 4", "X", 11_000, 7000, 1, 1, map[string]any{"purchase": "1.4.1", "acquired": 5.0}}, held)
	assert.Equal(t, 4000.0, find("call by buyer 4").Dur)
	at := map[[2]int][]traced{}
	for _, e := range events {
		track := [2]int{e.PID, e.TID}
		for _, o := range at[track] {
			if e.Ph != "X" {
				break
			}
			apart := e.TS >= o.TS+o.Dur || o.TS >= e.TS+e.Dur
			within := e.TS >= o.TS && e.TS+e.Dur <= o.TS+o.Dur || o.TS >= e.TS && o.TS+o.Dur <= e.TS+e.Dur
			assert.True(t, apart || within, "%v and %v overlap on one track", e, o)
		}
		if e.Ph == "X" {
			at[track] = append(at[track], e)
		}
	}
	open := find("held by buyer 1")
	assert.Equal(t, 15_000.0, open.Dur, "what nothing ends lasts to the end of the history")
	assert.Equal(t, 2, open.TID)
	assert.Equal(t, "to the end of the history", open.Args["open"])
	assert.Equal(t, 99.0, find("stock").Args["units"])
	assert.Equal(t, 2, find("stale write refused").TID)
	assert.Equal(t, "granted instance 1", find("granted instance 1").Name)
	fault := slices.IndexFunc(events, func(e traced) bool { return e.Name == "slow-call" && e.Ph == "X" })
	require.GreaterOrEqual(t, fault, 0)
	assert.Equal(t, 5000.0, events[fault].Dur)
}

func TestTraceSaysWhatItCouldntRead(t *testing.T) {
	t.Parallel()
	label := func(r result.Run) string {
		for _, e := range traceOf(t, r) {
			if e.Name == "process_labels" {
				return e.Args["labels"].(string)
			}
		}
		return ""
	}
	whole := twoInside(t)
	assert.Empty(t, label(whole))

	path := filepath.Join(whole.Dir, history.EventsFile)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data[:len(data)-20], 0o644))
	assert.Equal(t, "the history ends in the middle of a line", label(whole))
	assert.Greater(t, strings.Count(write(t, reports.Trace(), []result.Run{whole}, reports.Options{}), "\n"), 20, "what is there is shown")

	assert.Contains(t, label(with(naive(), func(r *result.Run) { r.Dir = "runs/not-there" })), "no history: open runs/not-there/history.jsonl")
	assert.Equal(t, "no history: the run has no folder", label(with(naive(), func(r *result.Run) { r.Dir = "" })))
}
