package reports

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// Trace is for the viewers of traces, such as Perfetto and chrome://tracing.
func Trace() Format {
	return Format{
		Name:    "trace",
		Ext:     "json",
		Summary: "Chrome trace JSON of each run's history, a track for each instance, for Perfetto or chrome://tracing",
		Write:   writeTrace,
	}
}

// traceEvent is an event of the trace event format. A run is a process there,
// an instance a thread.
type traceEvent struct {
	Name  string         `json:"name"`
	Phase string         `json:"ph"`
	TS    float64        `json:"ts"` // microseconds
	Dur   *float64       `json:"dur,omitempty"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	Scope string         `json:"s,omitempty"` // of an instant
	Cat   string         `json:"cat,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
}

// traceWriter writes events one at a time: a history can be long. It keeps the
// first error.
type traceWriter struct {
	out *bufio.Writer
	n   int
	err error
}

func (t *traceWriter) event(e traceEvent) {
	data, err := json.Marshal(e)
	if err != nil && t.err == nil {
		t.err = fmt.Errorf("encode an event of the trace: %w", err)
	}
	if t.err != nil {
		return
	}
	if t.n > 0 {
		_, _ = t.out.WriteString(",")
	}
	t.n++
	_, _ = t.out.WriteString("\n")
	_, t.err = t.out.Write(data)
}

func writeTrace(w io.Writer, runs []result.Run, _ Options) error {
	t := &traceWriter{out: bufio.NewWriterSize(w, 64<<10)}
	_, _ = t.out.WriteString(`{"displayTimeUnit":"ms","otherData":{"producer":"oversell"},"traceEvents":[`)
	for i, r := range scrub(runs, forTerminal) {
		writeTraceOf(t, i+1, r, runs[i].Dir)
	}
	_, _ = t.out.WriteString("\n]}\n")
	if t.err != nil {
		return t.err
	}
	return t.out.Flush()
}

// writeTraceOf writes one run as process pid. A run without a readable history
// is a process that says so.
func writeTraceOf(t *traceWriter, pid int, r result.Run, dir string) {
	meta := func(name string, args map[string]any) {
		t.event(traceEvent{Name: name, Phase: "M", PID: pid, Args: args})
	}
	meta("process_name", map[string]any{"name": fmt.Sprintf("%s, %s: %s", r.Scenario, lockName(r), r.Verdict)})
	meta("process_sort_index", map[string]any{"sort_index": pid})
	tracks := newTracks(t, pid)
	err := eachEvent(dir, tracks.see)
	switch {
	case errors.Is(err, history.ErrTruncated):
		meta("process_labels", map[string]any{"labels": "the history ends in the middle of a line"})
	case err != nil:
		meta("process_labels", map[string]any{"labels": forTerminal("no history: "+err.Error(), maxName)})
	}
	tracks.end()
}

// eachEvent calls f for every event of the history in a run's folder. What is
// there before an error has been seen by f.
func eachEvent(dir string, f func(history.Event)) error {
	if dir == "" {
		return errors.New("the run has no folder")
	}
	file, err := os.Open(filepath.Join(dir, history.EventsFile))
	if err != nil {
		return err
	}
	defer file.Close()
	return history.Each(file, func(e history.Event) error {
		f(e)
		return nil
	})
}

// micros is a time as traces have it.
func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
