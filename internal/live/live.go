// Package live shows on stderr how a run is getting on.
package live

import (
	"io"
	"sync"
	"time"
)

const (
	frame = 100 * time.Millisecond // between two drawings of the live line
	beat  = 5 * time.Second        // between two plain lines of one run
	idle  = time.Hour              // when there is nothing to show
	grace = time.Second            // for a writer that doesn't take the last line
)

// Status is a glance at a run that is going on.
type Status struct {
	// Part says what the run is a part of, such as "37 of 240". The parts of a
	// whole are shown as one run.
	Part                string
	Scenario, Lock      string
	Trial, Trials       int
	Phase               string
	Sold, Left, Holders int
	Elapsed             time.Duration
}

// Display shows one run at a time: on a terminal as one line that is redrawn
// in place, elsewhere as a plain line every five seconds. Safe for concurrent
// use. What the writer answers is ignored: a run doesn't fail because nobody
// watches it.
type Display struct {
	w     io.Writer
	tty   bool
	width int

	wake chan struct{} // holds at most one call
	done chan struct{} // closed when the drawing has ended

	mu      sync.Mutex
	status  Status
	at      time.Time // when status was told
	due     time.Time // of the next plain line
	showing bool      // a run is going on
	lines   []string  // to be printed, and to stay
	closed  bool

	drawn string // the live line as it is on the terminal; only show touches it
}

// New makes a display that writes to w, which is a terminal or isn't, and has
// width columns (0: 80). Close it.
func New(w io.Writer, tty bool, width int) *Display {
	if width <= 0 {
		width = 80
	}
	d := &Display{w: w, tty: tty, width: width, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go d.show()
	return d
}

// Update tells how the run is getting on. It never blocks; what isn't drawn
// before the next Update isn't drawn. A status with another scenario or lock
// than the one before begins a new run, unless both are parts of a whole.
func (d *Display) Update(s Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	now := time.Now()
	another := s.Scenario != d.status.Scenario || s.Lock != d.status.Lock
	if !d.showing || another && (s.Part == "" || d.status.Part == "") {
		d.due = now.Add(beat)
		d.nudge()
	}
	d.status, d.at, d.showing = s, now, true
}

// Done ends the run that was shown, unless it is part of a whole, and prints a
// line that stays. It doesn't wait for the writer. After Close it has no effect.
func (d *Display) Done(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	d.lines = append(d.lines, line)
	d.showing = d.showing && d.status.Part != ""
	d.nudge()
}

// Close prints what is still to be printed, removes the live line and leaves
// the cursor at the beginning of an empty line. A writer that takes nothing
// holds it up for a second at most. Closing again does nothing.
func (d *Display) Close() {
	d.mu.Lock()
	d.closed, d.showing = true, false
	d.nudge()
	d.mu.Unlock()
	stuck := time.NewTimer(grace)
	defer stuck.Stop()
	select {
	case <-d.done:
	case <-stuck.C:
	}
}

func (d *Display) nudge() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// show is the only one that writes, and holds no lock while it does.
func (d *Display) show() {
	defer close(d.done)
	timer := time.NewTimer(idle)
	defer timer.Stop()
	for {
		select {
		case <-d.wake:
		case <-timer.C:
		}
		out, wait, last := d.next()
		if out != "" {
			_, _ = io.WriteString(d.w, out)
		}
		if last {
			return
		}
		timer.Reset(wait)
	}
}

// next is what to write now, how long to wait after it, and whether it is the
// last there is.
func (d *Display) next() (out string, wait time.Duration, last bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	if d.tty {
		out, wait = d.redraw(now), frame
	} else {
		out, wait = d.plain(now), d.due.Sub(now)
	}
	if !d.showing {
		wait = idle
	}
	d.lines = nil
	return out, wait, d.closed
}
