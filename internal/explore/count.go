package explore

import "errors"

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
		switch state[id] {
		case 0:
			state[id] = 1
			for _, e := range n.edges {
				switch to := n.target(e); {
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
			for _, e := range n.edges {
				if to := n.target(e); to >= 0 {
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

// shortest finds the shortest way to a state that has broken p, and among
// those the one that changes least between buyers. Nil when there is none.
func (g *graph) shortest(p Property) []event {
	if len(g.nodes) == 0 {
		return nil
	}
	type at struct {
		node int32
		last int8
	}
	type came struct {
		from at
		ev   event
		cost int
	}
	// A hop costs one, an event a thousand.
	best := map[at]came{{0, 0}: {cost: 0}}
	level := []at{{0, 0}}
	var goal *at
	for len(level) > 0 && goal == nil {
		var next []at
		for _, a := range level {
			for _, e := range g.nodes[a.node].edges {
				if e.to < 0 {
					continue
				}
				to := at{e.to, a.last}
				cost := best[a].cost + 1000
				if n := int8(e.ev.buyer()); n > 0 {
					if to.last = n; a.last != n {
						cost++
					}
				}
				old, known := best[to]
				if known && old.cost <= cost {
					continue
				}
				best[to] = came{a, e.ev, cost}
				if !known {
					next = append(next, to)
				}
			}
		}
		for _, a := range next {
			if g.nodes[a.node].bad.broke(p) && (goal == nil || best[a].cost < best[*goal].cost) {
				goal = &a
			}
		}
		level = next
	}
	if goal == nil {
		return nil
	}
	var evs []event
	for a := *goal; best[a].cost > 0; a = best[a].from {
		evs = append([]event{best[a].ev}, evs...)
	}
	return evs
}
