package explore

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// worker explores in one bubble.
type worker struct {
	w    *world
	g    *graph
	beat *atomic.Int64 // moves on with every event, for the watch
	evs  []event
}

// exhaust takes edges of the graph until none is left.
func (k *worker) exhaust() error {
	for {
		t, got, wait := k.g.take()
		switch {
		case got && t.node < 0:
			if err := k.root(); err != nil {
				return err
			}
		case got:
			if err := k.follow(t); err != nil {
				return err
			}
		case wait:
			// The other workers may find more. Time is fake in here, so this
			// sleeps in the kernel.
			nap := syscall.NsecToTimespec(int64(50 * time.Microsecond))
			_ = syscall.Nanosleep(&nap, nil)
		default:
			return nil
		}
	}
}

// root makes the first node and explores from there.
func (k *worker) root() error {
	k.w.begin()
	k.g.mu.Lock()
	id, _ := k.enter(-1, 0, false)
	next := k.g.nextEdge(id)
	k.g.mu.Unlock()
	return k.onward(id, next)
}

// follow replays the way to a node and goes on along one of its edges.
func (k *worker) follow(t task) error {
	k.g.mu.Lock()
	path := k.g.path(t.node)
	key := k.g.nodes[t.node].key
	k.g.mu.Unlock()
	k.w.begin()
	for i, ev := range path {
		if !k.w.has(ev) {
			return k.diverged(path, i)
		}
		k.w.apply(ev)
		k.beat.Add(1)
	}
	if k.w.trouble == nil && k.w.state() != key {
		return k.diverged(path, len(path))
	}
	return k.onward(t.node, t.edge)
}

// onward plays one edge after the other, until it comes to what is known or to
// an end.
func (k *worker) onward(id, at int32) error {
	played := int64(0)
	for at >= 0 && k.w.trouble == nil {
		k.g.mu.Lock()
		ev, depth := k.g.nodes[id].edges[at].ev, k.g.nodes[id].depth
		k.g.mu.Unlock()
		f := k.w.apply(ev)
		k.beat.Add(1)
		played++
		k.g.mu.Lock()
		to, isNew := k.enter(id, ev, int(depth)+1 >= maxEvents)
		e := &k.g.nodes[id].edges[at]
		e.to, e.f = to, f
		id, at = to, -1
		if isNew {
			k.g.inferEdges(id)
			at = k.g.nextEdge(id)
		}
		k.g.mu.Unlock()
	}
	k.g.mu.Lock()
	k.g.runs++
	k.g.events += played + int64(k.g.nodes[id].depth)
	if k.w.outcome&oversold != 0 && k.g.firstBad == 0 {
		k.g.firstBad = k.g.runs
	}
	k.g.busy--
	k.g.mu.Unlock()
	if k.w.trouble != nil {
		return k.w.trouble
	}
	return k.w.end()
}

// enter puts the world's present state into the graph.
func (k *worker) enter(parent int32, ev event, tooLong bool) (int32, bool) {
	k.evs = k.w.enabled(k.evs[:0])
	bad := k.w.outcome
	ended := len(k.evs) == 0
	if tooLong && !ended {
		ended, k.evs = true, k.evs[:0]
		bad |= cut
	}
	if ended {
		bad |= k.w.conclude()
		k.final(bad)
	}
	return k.g.enter(k.w.state(), parent, ev, k.evs, k.w.untouched, ended, bad)
}

// maxFinals bounds the memory for how schedules have ended.
const maxFinals = 100_000

// final keeps how a schedule has ended. Called with g.mu held.
func (k *worker) final(bad outcome) {
	if len(k.g.finals) < maxFinals {
		k.g.finals[k.w.final(bad)] = struct{}{}
	}
}

// untouched reports whether a buyer hasn't done anything yet: such buyers are
// all the same.
func (w *world) untouched(n int) bool { return !w.touched[n] }

// final is what counts of an end: how many have bought, how many haven't and
// why, what is left, and what the servers hold. Who is who doesn't count.
func (w *world) final(bad outcome) view {
	bought := map[int]uint64{}
	for _, o := range w.shelf.orders {
		bought[o.Instance]++
	}
	fate := func(n int) uint64 {
		if n == 0 {
			return 0
		}
		return 1 + bought[n]<<8 | uint64(w.buyers[n-1].flags())
	}
	var fates []uint64
	for _, b := range w.buyers {
		fates = append(fates, fate(b.n))
	}
	slices.Sort(fates)
	v := newView().number(uint64(bad)).number(uint64(w.shelf.units))
	for _, f := range fates {
		v = v.number(f)
	}
	for i := range w.states {
		for _, e := range w.states[i].entries {
			v = v.word(e.Key).word(e.Type).number(fate(w.states[i].owner[e.Key])).flag(e.TTL > 0)
		}
	}
	return v
}

// has reports whether an event can happen now.
func (w *world) has(ev event) bool {
	if n := ev.buyer(); n > 0 && ev.act() <= giveBack {
		b := w.buyers[n-1]
		return !b.crashed && ev.index() < len(b.pend) && (b.pend[ev.index()].kind == ofCall) == (ev.act() == giveBack)
	}
	for _, e := range w.enabled(nil) {
		if e == ev {
			return true
		}
	}
	return false
}

// diverged says that the same schedule has led to something else.
func (k *worker) diverged(path []event, at int) error {
	where := "at its end"
	if at < len(path) {
		where = fmt.Sprintf("at event %d of %d (%s)", at+1, len(path), path[at])
	}
	err := &NondeterminismError{Kind: k.w.c.Kind.Name, Where: where, Schedule: words(path), Now: k.w.describe()}
	_ = k.w.end()
	return err
}

// NondeterminismError is returned when a schedule that was played again went
// another way.
type NondeterminismError struct {
	Kind     string
	Where    string
	Schedule []string
	Now      string // what there was instead
}

// describe lists what is pending, for a person.
func (w *world) describe() string {
	var s strings.Builder
	for _, b := range w.buyers {
		fmt.Fprintf(&s, "%s:", letter(b.n))
		if !b.alive() {
			s.WriteString(" gone")
		}
		for _, p := range b.pend {
			fmt.Fprintf(&s, " [%s]", lettered(commandText(w.shapeOf(b, p))))
		}
		s.WriteString("; ")
	}
	fmt.Fprintf(&s, "%s after the start", time.Since(w.start).Round(time.Microsecond))
	return s.String()
}

func (e *NondeterminismError) Error() string {
	return fmt.Sprintf("%s isn't deterministic: the same schedule went another way %s, where there is %s", e.Kind, e.Where, e.Now)
}

func words(evs []event) []string {
	s := make([]string, len(evs))
	for i, e := range evs {
		s[i] = e.String()
	}
	return s
}
