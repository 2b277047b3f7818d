package explore

import (
	"cmp"
	"errors"
	"slices"
)

// Counts are numbers of schedules. They are exact up to 2^53.
type Counts struct {
	All        float64 `json:"all"`
	Oversold   float64 `json:"oversold"`
	Mismatch   float64 `json:"mismatch"`
	Stalled    float64 `json:"stalled"`
	Foreign    float64 `json:"foreign_release"`
	Cut        float64 `json:"cut"` // not followed to their end
	Unfinished bool    `json:"unfinished,omitempty"`
}

// Of is the number of schedules that broke p.
func (c Counts) Of(p Property) float64 {
	switch p {
	case Oversold:
		return c.Oversold
	case Mismatch:
		return c.Mismatch
	case Stalled:
		return c.Stalled
	case ForeignRelease:
		return c.Foreign
	}
	return 0
}

// counted is one of what Counts counts: schedules that have come to all of some bits.
type counted struct {
	n    *float64
	bits outcome
}

func (c *Counts) each() [6]counted {
	return [...]counted{{&c.All, 0}, {&c.Oversold, oversold}, {&c.Mismatch, mismatch}, {&c.Stalled, stalled}, {&c.Foreign, foreign}, {&c.Cut, cut}}
}

func (w counted) is(o outcome) bool { return o&w.bits == w.bits }

func (c *Counts) addOutcome(o outcome) {
	for _, what := range c.each() {
		if what.is(o) {
			*what.n++
		}
	}
}

var errCircle = errors.New("explore: two states lead to each other")

// count counts the paths of the graph: every schedule there is. A number for each node
// is kept, of one thing that is counted at a time.
func (g *graph) count() (Counts, error) {
	if len(g.nodes) == 0 {
		return Counts{Unfinished: true}, nil
	}
	order, unfinished, err := g.backwards()
	if err != nil {
		return Counts{}, err
	}
	var c Counts
	c.Unfinished = unfinished
	paths := make([]float64, len(g.nodes))
	for _, what := range c.each() {
		for _, id := range order {
			n := &g.nodes[id]
			sum := 0.0
			if n.ended && what.is(n.bad) {
				sum = 1
			}
			es := g.of(n)
			for i := range es {
				if to, _ := es.follow(&es[i]); to >= 0 {
					sum += paths[to]
				}
			}
			paths[id] = sum
		}
		*what.n = paths[0]
	}
	return c, nil
}

// backwards lists the nodes so that each comes after all to which it leads. It also
// tells whether some edges weren't followed.
func (g *graph) backwards() (order []int32, unfinished bool, err error) {
	const (
		underWay = 1
		listed   = 2
	)
	state := make([]uint8, len(g.nodes))
	order = make([]int32, 0, len(g.nodes))
	stack := []int32{0}
	for len(stack) > 0 {
		id := stack[len(stack)-1]
		switch state[id] {
		case 0:
			state[id] = underWay
			es := g.of(&g.nodes[id])
			for i := range es {
				switch to, _ := es.follow(&es[i]); {
				case to < 0:
					unfinished = true
				case state[to] == underWay:
					return nil, false, errCircle
				case state[to] == 0:
					stack = append(stack, to)
				}
			}
		case underWay:
			state[id] = listed
			order = append(order, id)
			stack = stack[:len(stack)-1]
		default:
			stack = stack[:len(stack)-1]
		}
	}
	return order, unfinished, nil
}

// nearest are the nodes on the shortest ways to one that has broken p, and how many
// events lead to each. Nil when there is none.
func (g *graph) nearest(p Property) map[int32]int {
	broken := func(id int32) bool { return g.nodes[id].bad.broke(p) }
	if !slices.ContainsFunc(g.nodes, func(n node) bool { return n.bad.broke(p) }) {
		return nil
	}
	const notYet = -1
	far := make([]int16, len(g.nodes))
	for i := range far {
		far[i] = notYet
	}
	far[0] = 0
	levels := [][]int32{{0}}
	for !slices.ContainsFunc(levels[len(levels)-1], broken) {
		var next []int32
		for _, id := range levels[len(levels)-1] {
			g.onwards(id, func(_ event, to int32, _ turn) {
				if far[to] == notYet {
					far[to] = int16(len(levels))
					next = append(next, to)
				}
			})
		}
		if len(next) == 0 {
			return nil
		}
		levels = append(levels, next)
	}
	on := map[int32]int{}
	for n, level := range slices.Backward(levels) {
		for _, id := range level {
			leads := n == len(levels)-1 && broken(id)
			g.onwards(id, func(_ event, to int32, _ turn) {
				at, there := on[to]
				leads = leads || there && at == n+1
			})
			if leads {
				on[id] = n
			}
		}
	}
	return on
}

// onwards calls f with each edge of a node that leads somewhere: the event, where it
// leads, and its turn.
func (g *graph) onwards(id int32, f func(ev event, to int32, turn turn)) {
	es := g.of(&g.nodes[id])
	for i := range es {
		e := &es[i]
		if to, is := es.follow(e); to >= 0 && !(g.plain && e.to == mirrored) {
			f(e.ev, to, is)
		}
	}
}

// spot is a node, and which of its buyers has acted last, 0 for none.
type spot struct {
	id   int32
	last int
}

// came is how a spot was reached, while the shortest way is looked for.
type came struct {
	from    spot
	changes int // between buyers
	ev      event
	turn    turn
}

// shortest finds the shortest way to a state that has broken p, and among
// those the one that changes least between buyers. Nil when there is none.
func (g *graph) shortest(p Property) []event {
	on := g.nearest(p)
	if on == nil {
		return nil
	}
	start := spot{}
	best := map[spot]came{start: {from: start}}
	level := []spot{start}
	for {
		var next []spot
		for _, at := range level {
			g.onwards(at.id, func(ev event, to int32, turn turn) {
				if far, leads := on[to]; !leads || far != on[at.id]+1 {
					return
				}
				who, changes := at.last, best[at].changes
				if b := ev.buyer(); b > 0 {
					if who = b; b != at.last {
						changes++
					}
				}
				there := spot{to, turn.of(who)}
				old, known := best[there]
				if !known {
					next = append(next, there)
				} else if old.changes <= changes {
					return
				}
				best[there] = came{at, changes, ev, turn}
			})
		}
		if len(next) == 0 {
			break
		}
		level = next
	}
	at := slices.MinFunc(level, func(x, y spot) int { return cmp.Compare(best[x].changes, best[y].changes) })
	var way []came
	for ; at != start; at = best[at].from {
		way = append(way, best[at])
	}
	var evs []event
	as := g.root.back()
	for _, c := range slices.Backward(way) {
		evs = append(evs, as.event(c.ev))
		as = c.turn.back().then(as)
	}
	return evs
}
