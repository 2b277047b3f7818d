package wire

import (
	"maps"
	"slices"
	"sync"
)

// end is one instance and one server, or, as 0 and "", all of them.
type end struct {
	instance int
	server   string
}

func (e end) covers(c *conn) bool {
	return (e.instance == 0 || e.instance == c.instance) && (e.server == "" || e.server == c.server)
}

// cut is one call of Cut that hasn't been healed.
type cut struct{ end }

// Cut loses every byte between instance (0: all) and server ("": all) from now
// on, in both directions, open connections included; new connections are
// accepted and get no answer. What is lost isn't shown to handlers. Heal ends
// it: connections that lost something are closed, new ones work. Where cuts
// overlap, the last heal counts. Calling heal again does nothing.
func (w *Wire) Cut(instance int, server string) (heal func()) {
	x := &cut{end{instance, server}}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cuts[x] = struct{}{}
	for c := range w.conns {
		if x.covers(c) {
			c.cut()
		}
	}
	return sync.OnceFunc(func() { w.heal(x) })
}

func (w *Wire) heal(x *cut) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.cuts, x)
	for c := range w.conns {
		if x.covers(c) {
			c.heal()
		}
	}
}

// Disconnect closes every connection of instance (0: all) to server ("": all).
// A handler that is being asked about one of them isn't interrupted; what it
// was asked about is lost. It returns how many it has closed.
func (w *Wire) Disconnect(instance int, server string) (closed int) {
	e := end{instance, server}
	w.mu.Lock()
	conns := slices.Collect(maps.Keys(w.conns))
	w.mu.Unlock()
	for _, c := range conns {
		if e.covers(c) && c.close() {
			closed++
		}
	}
	return closed
}
