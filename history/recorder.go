package history

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// Recorder numbers events, keeps them and writes them as JSON lines. Safe for
// concurrent use. The first error of the writer is kept for Flush.
type Recorder struct {
	clock Clock
	hook  func(Event)

	mu      sync.Mutex
	out     *bufio.Writer
	enc     *json.Encoder
	events  []Event
	flushed time.Duration // when the file last had everything
	err     error
	watches []*Watch
}

// NewRecorder writes to w. Events without a time are stamped by clock. hook,
// when not nil, sees every event in order, under the recorder's lock: it must
// not block and must not record.
func NewRecorder(w io.Writer, clock Clock, hook func(Event)) *Recorder {
	out := bufio.NewWriterSize(w, 64<<10)
	return &Recorder{clock: clock, hook: hook, out: out, enc: json.NewEncoder(out)}
}

// Now is the time since the run's start.
func (r *Recorder) Now() time.Duration { return r.clock() }

// Record numbers e, stamps it unless it has a time already, writes it and
// returns it.
func (r *Recorder) Record(e Event) Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.At == 0 {
		e.At = r.clock()
	}
	e.N = int64(len(r.events)) + 1
	r.events = append(r.events, e)
	if err := r.enc.Encode(e); err != nil && r.err == nil {
		r.err = fmt.Errorf("write event %d: %w", e.N, err)
	}
	if now := r.clock(); now-r.flushed >= flushEvery {
		_ = r.flush() // kept for Flush
		r.flushed = now
	}
	if r.hook != nil {
		r.hook(e)
	}
	r.watches = slices.DeleteFunc(r.watches, func(w *Watch) bool { return w.offer(e) })
	return e
}

// flushEvery is how much of a history is lost at most, beyond the event under
// way, when its writer is killed while events keep coming.
const flushEvery = 200 * time.Millisecond

// Flush writes out what is buffered and returns the first error of all writes.
func (r *Recorder) Flush() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.flush()
}

func (r *Recorder) flush() error {
	if err := r.out.Flush(); err != nil && r.err == nil {
		r.err = fmt.Errorf("flush the history: %w", err)
	}
	return r.err
}

// Events returns a copy of what was recorded so far, in order of N.
func (r *Recorder) Events() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// Watch waits for one event. Start it before the act whose consequence it
// waits for, so that the event can't be missed.
type Watch struct {
	r     *Recorder
	match func(Event) bool
	found chan Event
}

// Watch begins to look for the first event, recorded from now on, for which
// match is true. match runs under the recorder's lock: it must not block and
// must not record. Call Stop when done.
func (r *Recorder) Watch(match func(Event) bool) *Watch {
	w := &Watch{r: r, match: match, found: make(chan Event, 1)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watches = append(r.watches, w)
	return w
}

// offer reports whether e is what the watch was waiting for.
func (w *Watch) offer(e Event) bool {
	if !w.match(e) {
		return false
	}
	w.found <- e
	return true
}

// Found delivers the event, once.
func (w *Watch) Found() <-chan Event { return w.found }

// Wait blocks until the event is there or ctx ends, and returns ctx's error then.
func (w *Watch) Wait(ctx context.Context) (Event, error) {
	select {
	case e := <-w.found:
		return e, nil
	case <-ctx.Done():
		return Event{}, ctx.Err()
	}
}

// Stop ends the watch.
func (w *Watch) Stop() {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	w.r.watches = slices.DeleteFunc(w.r.watches, func(o *Watch) bool { return o == w })
}
