package explore

import (
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

func (c *Counts) add(o Counts) {
	c.All += o.All
	c.Oversold += o.Oversold
	c.Mismatch += o.Mismatch
	c.Stalled += o.Stalled
	c.Foreign += o.Foreign
	c.Cut += o.Cut
}

func (c *Counts) addOutcome(o outcome) {
	c.All++
	for _, f := range []struct {
		is outcome
		n  *float64
	}{{oversold, &c.Oversold}, {mismatch, &c.Mismatch}, {stalled, &c.Stalled}, {foreign, &c.Foreign}, {cut, &c.Cut}} {
		if o&f.is != 0 {
			*f.n++
		}
	}
}

var errCircle = errors.New("explore: two states lead to each other")

// count counts the paths of the graph: every schedule there is.
func (g *graph) count() (Counts, error) {
	if len(g.nodes) == 0 {
		return Counts{Unfinished: true}, nil
	}
	memo := make([]Counts, len(g.nodes))
	state := make([]uint8, len(g.nodes)) // 1 under way, 2 done
	unfinished := false
	stack := []int32{0}
	for len(stack) > 0 {
		id := stack[len(stack)-1]
		n := &g.nodes[id]
		es := g.of(n)
		switch state[id] {
		case 0:
			state[id] = 1
			for i := range es {
				switch to, _ := es.follow(&es[i]); {
				case to < 0:
					unfinished = true
				case state[to] == 1:
					return Counts{}, errCircle
				case state[to] == 0:
					stack = append(stack, to)
				}
			}
		case 1:
			state[id] = 2
			stack = stack[:len(stack)-1]
			if n.ended {
				memo[id].addOutcome(n.bad)
			}
			for i := range es {
				if to, _ := es.follow(&es[i]); to >= 0 {
					memo[id].add(memo[to])
				}
			}
		default:
			stack = stack[:len(stack)-1]
		}
	}
	c := memo[0]
	c.Unfinished = unfinished
	return c, nil
}

// came is how a node was reached, while the shortest way is looked for.
type came struct {
	from int32 // another of these
	cost int32 // a thousand for each event, and one for each change between buyers; the start has 1
	ev   event
	turn turn
}

// shortest finds the shortest way to a state that has broken p, and among
// those the one that changes least between buyers. Nil when there is none.
func (g *graph) shortest(p Property) []event {
	if !slices.ContainsFunc(g.nodes, func(n node) bool { return n.bad.broke(p) }) {
		return nil
	}
	// There is one for each node and each of its buyers who may have acted last.
	many := 1 + g.buyers
	best := make([]came, len(g.nodes)*many)
	best[0] = came{from: -1, cost: 1}
	level := []int32{0}
	goal := int32(-1)
	for len(level) > 0 && goal < 0 {
		var next []int32
		for _, at := range level {
			es, last := g.of(&g.nodes[int(at)/many]), int(at)%many
			for i := range es {
				e := &es[i]
				to, f := es.follow(e)
				if to < 0 || g.plain && e.to == mirrored {
					continue
				}
				who, cost := last, best[at].cost+1000
				if b := e.ev.buyer(); b > 0 {
					if who = b; b != last {
						cost++
					}
				}
				there := to*int32(many) + int32(f.turn.of(who))
				old := &best[there]
				if old.cost == 0 {
					next = append(next, there)
				} else if old.cost <= cost {
					continue
				}
				*old = came{at, cost, e.ev, f.turn}
			}
		}
		for _, at := range next {
			if g.nodes[int(at)/many].bad.broke(p) && (goal < 0 || best[at].cost < best[goal].cost) {
				goal = at
			}
		}
		level = next
	}
	if goal < 0 {
		return nil
	}
	var way []came
	for at := goal; best[at].from >= 0; at = best[at].from {
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
