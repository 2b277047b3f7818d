package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// The files of a run directory that this package reads and writes.
const (
	PlanFile   = "plan.json"
	EventsFile = "history.jsonl"
	PlanSchema = "oversell.plan/v2"
	// PlanSchemaV1 is of runs whose histories have neither wire.unanswered nor
	// the Took of commands on the wire.
	PlanSchemaV1 = "oversell.plan/v1"
)

// ErrTruncated says that a history ends in the middle of a line, as it does
// when its writer was killed. The events before that line are good.
var ErrTruncated = errors.New("history: the last line is incomplete")

// Read reads JSON lines. With ErrTruncated the events before the incomplete
// last line are returned too; any other error names the line.
func Read(r io.Reader) ([]Event, error) { return read(r, 0) }

// read has room for so many events from the beginning.
func read(r io.Reader, room int) ([]Event, error) {
	var events []Event
	if room > 0 {
		events = make([]Event, 0, room)
	}
	err := Each(r, func(e Event) error {
		events = append(events, e)
		return nil
	})
	return events, err
}

// Each calls f for every event of JSON lines, in the order of the lines, and
// keeps none of them. It ends with f's first error, with ErrTruncated after the
// last event before an incomplete line, or with an error that names the line.
func Each(r io.Reader, f func(Event) error) error {
	known := interner{}
	br := bufio.NewReaderSize(r, 256<<10)
	for line := 1; ; line++ {
		text, err := br.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return fmt.Errorf("read line %d of the history: %w", line, err)
		}
		whole := err == nil
		if text = bytes.TrimSpace(text); len(text) > 0 {
			var e Event
			if err := json.Unmarshal(text, &e); err != nil {
				if !whole {
					return ErrTruncated
				}
				return fmt.Errorf("read line %d of the history: %w", line, err)
			}
			known.event(&e)
			if err := f(e); err != nil {
				return err
			}
		}
		if !whole {
			return nil
		}
	}
}

// WritePlan saves p as DIR/plan.json.
func WritePlan(dir string, p Plan) error {
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the plan: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, PlanFile), append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("save the plan: %w", err)
	}
	return nil
}

// Load reads a run directory's plan and events. With ErrTruncated the history
// is usable up to the incomplete line.
func Load(dir string) (History, error) {
	var h History
	data, err := os.ReadFile(filepath.Join(dir, PlanFile))
	if err != nil {
		return h, fmt.Errorf("read the plan: %w", err)
	}
	if err := json.Unmarshal(data, &h.Plan); err != nil {
		return h, fmt.Errorf("read the plan %s: %w", filepath.Join(dir, PlanFile), err)
	}
	f, err := os.Open(filepath.Join(dir, EventsFile))
	if err != nil {
		return h, fmt.Errorf("read the history: %w", err)
	}
	defer f.Close()
	room, err := countLines(f)
	if err != nil {
		return h, fmt.Errorf("read the history: %w", err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return h, fmt.Errorf("read the history: %w", err)
	}
	h.Events, err = read(f, room)
	return h, err
}
