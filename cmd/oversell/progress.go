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
	part    string
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

// show begins a live line; stop ends it. Part says what the runs that are shown
// are part of, and part can be told anew while they go on.
func (n *notes) show(tty bool, width int, part string) (update func(engine.Progress), stop func()) {
	d := live.New(n.w, tty, width)
	n.mu.Lock()
	n.display, n.part = d, part
	n.mu.Unlock()
	return func(p engine.Progress) {
			n.mu.Lock()
			part := n.part
			n.mu.Unlock()
			d.Update(live.Status{
				Part: part, Scenario: p.Scenario, Lock: p.Lock, Trial: p.Trial, Trials: p.Trials, Phase: p.Phase,
				Sold: p.Sold, Left: p.Left, Holders: p.Holders, Elapsed: p.Elapsed,
			})
		}, func() {
			n.mu.Lock()
			n.display = nil
			n.mu.Unlock()
			d.Close()
		}
}

// tell says anew what the runs that are shown are part of.
func (n *notes) tell(part string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.part = part
}
