package main

import (
	"fmt"
	"io"
	"sync"

	"github.com/oversell/oversell/internal/engine"
	"github.com/oversell/oversell/internal/live"
)

// notes prints lines on stderr, above the live line while there is one. Safe
// for concurrent use.
type notes struct {
	w io.Writer

	mu      sync.Mutex
	display *live.Display
}

// say prints a line that stays.
func (n *notes) say(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.display != nil {
		n.display.Done(line)
		return
	}
	fmt.Fprintln(n.w, line)
}

// show begins a live line; stop ends it.
func (n *notes) show(tty bool, width int) (update func(engine.Progress), stop func()) {
	d := live.New(n.w, tty, width)
	n.mu.Lock()
	n.display = d
	n.mu.Unlock()
	return func(p engine.Progress) { d.Update(live.Status(p)) }, func() {
		n.mu.Lock()
		n.display = nil
		n.mu.Unlock()
		d.Close()
	}
}
