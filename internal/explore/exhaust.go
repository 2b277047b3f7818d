package explore

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// worker explores in one bubble.
type worker struct {
	w    *world
	g    *graph
	beat *atomic.Int64 // moves on with every event, for the watch

	here   here
	path   []event // of the present schedule
	as     turn    // from the buyers of the node where it is to those of the world
	chance uint64
	over   *atomic.Bool    // others go on
	naps   <-chan struct{} // gives something after a moment of real time

	strayed *atomic.Pointer[NondeterminismError] // an example of the team's
}

// exhaust plays schedules until there is nothing more to be explored, or others
// go on.
func (k *worker) exhaust() error {
	for !k.over.Load() {
		switch e := k.g.next(); e {
		case goHome:
			return nil
		case linger:
			<-k.naps
		default:
			if err := k.walk(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// here is what a worker sees of its world's present state.
type here struct {
	key   view
	as    turn   // from the world's buyers to the state's
	same  []turn // as in arrival
	evs   []event
	ended bool
	bad   outcome
	final view
	parts *parts
}

// lookAround reads the world's present state.
func (k *worker) lookAround(tooLong bool) {
	h := &k.here
	h.parts = k.w.takeApart(k.w.turns...)
	s := h.parts.scene
	if h.evs = h.evs[:0]; k.w.trouble == nil {
		h.evs = s.enabled(h.evs)
	}
	h.bad, h.ended = k.w.outcome, len(h.evs) == 0
	if tooLong && !h.ended {
		h.ended, h.evs = true, h.evs[:0]
		h.bad |= cut
	}
	if h.ended {
		h.bad |= s.conclude()
		h.final = s.final(h.bad)
	}
	h.key, h.as, h.same = h.parts.canonical(k.w.turns, h.same)
}

// enter puts what was seen into the graph, and goes on among the buyers of its
// node. Called with the graph locked.
func (k *worker) enter(parent int32, ev event) (id int32, turned turn) {
	h := &k.here
	if h.ended {
		k.g.ends(h.final)
	}
	turned = k.as.then(h.as)
	for i, e := range h.evs {
		h.evs[i] = h.as.event(e)
	}
	id = k.g.enter(arrival{h.key, parent, ev, turned, h.evs, h.same, k.w.untouched, h.ended, h.bad, k.g.intern(h.parts, h.as)})
	k.as = h.as.back()
	return id, turned
}

// ends notes how a schedule has ended.
func (g *graph) ends(how view) {
	if len(g.finals) < maxFinals {
		g.finals[how] = struct{}{}
	}
}

// maxFinals bounds the memory for how schedules have ended.
const maxFinals = 100_000

// untouched reports whether a buyer hasn't done anything yet.
func (w *world) untouched(n int) bool { return !w.touched[n] }

// has reports whether an event can happen now.
func (w *world) has(ev event) bool {
	if n := ev.buyer(); n > 0 && ev.act() <= giveBack {
		b := w.buyers[n-1]
		p := b.message(ev)
		return !b.crashed && p != nil && (p.kind == ofCall) == (ev.act() == giveBack)
	}
	for _, e := range w.enabled(nil) {
		if e == ev {
			return true
		}
	}
	return false
}

// diverged says that the same schedule has led to something else, and where: it
// plays it twice more and compares what buyers have sent after each event.
func (k *worker) diverged(path []event, at int) error {
	path = slices.Clone(path)
	err := k.divergence(path, at)
	_ = k.w.end()
	var played [3][]string
	for i := range played {
		played[i] = k.describeAll(path)
	}
	for _, other := range played[1:] {
		for i := range min(len(other), len(played[0])) {
			if a, b := played[0][i], other[i]; a != b {
				err.Where, err.Before, err.Now = "at the start", a, b
				if i > 0 {
					err.Where = fmt.Sprintf("after event %d of %d (%s)", i, len(path), path[i-1])
				}
				return err
			}
		}
	}
	return err
}

// describeAll plays a schedule, as far as it goes, and describes what there was
// at its start and after each of its events.
func (k *worker) describeAll(path []event) []string {
	k.w.begin()
	all := []string{k.w.describe()}
	k.goAlong(path, func() { all = append(all, k.w.describe()) })
	_ = k.w.end()
	return all
}

// goAlong plays events from where the world is, as long as they can happen, and calls
// then after each. It reports whether all have happened.
func (k *worker) goAlong(path []event, then func()) bool {
	for _, ev := range path {
		if k.w.trouble != nil || !k.w.has(ev) {
			return false
		}
		k.w.apply(ev)
		k.beat.Add(1)
		then()
	}
	return k.w.trouble == nil
}

// divergence is where a schedule has led to something else than before.
func (k *worker) divergence(path []event, at int) *NondeterminismError {
	where := "at its end"
	if at < len(path) {
		where = fmt.Sprintf("at event %d of %d (%s)", at+1, len(path), path[at])
	}
	return &NondeterminismError{Kind: k.w.c.Kind.Name, Where: where, Schedule: words(path), Now: k.w.describe()}
}

// NondeterminismError is returned when a schedule that was played again went
// another way.
type NondeterminismError struct {
	Kind     string
	Where    string
	Schedule []string
	Before   string // what there was the first time, "" when that isn't known
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
			fmt.Fprintf(&s, " [%s]", lettered(commandText(w.shapeOf(p))))
		}
		s.WriteString("; ")
	}
	fmt.Fprintf(&s, "%s after the start", time.Since(w.start).Round(time.Millisecond))
	return s.String()
}

func (e *NondeterminismError) Error() string {
	text := fmt.Sprintf("%s isn't deterministic: the same schedule went another way %s, where there is %s", e.Kind, e.Where, e.Now)
	if e.Before != "" {
		text += "; the time before there was " + e.Before
	}
	return text
}

func words(evs []event) []string {
	s := make([]string, len(evs))
	for i, e := range evs {
		s[i] = e.String()
	}
	return s
}
