package explore

import (
	"slices"
	"sync"
)

// graph is every state that was found, and which event leads from where to
// where. All schedules are the paths through it, so they can be counted
// without being run. Safe for concurrent use.
type graph struct {
	reduce bool // merge equal states and events that commute; else the graph is a tree
	infer  bool

	mu     sync.Mutex
	nodes  []node
	byKey  map[view]int32
	open   int  // edges to be explored
	rooted bool // somebody has begun
	busy   int  // workers on their way
	stop   bool
	full   bool // no more states can be kept
	limit  int

	finals map[view]struct{} // how schedules have ended, in what counts

	runs     int64         // schedules that were run, in whole or from a new state on
	events   int64         // that were played, all repetitions included
	inferred int64         // edges known without running them
	firstBad int64         // the run that oversold first
	found    chan struct{} // closed at that
}

// node is a state.
type node struct {
	key    view
	parent int32
	via    event
	depth  int16
	open   int16 // edges to be explored
	ended  bool  // nothing can happen any more
	closed bool  // nothing is to be explored here or behind it
	bad    outcome
	edges  []edge
}

type edge struct {
	ev event
	to int32 // a node, or one of the states below
	f  footprint
}

const (
	unexplored = -1
	underWay   = -2
	// mirrored: an event of a buyer who hasn't done anything, which comes to the
	// same as that of another such buyer; f.keys is the other. It isn't explored.
	mirrored = -3
)

// maxStates keeps the whole process within 512 MB.
const maxStates = 800_000

func newGraph(reduce, infer bool) *graph {
	return &graph{reduce: reduce, infer: infer, byKey: map[view]int32{}, finals: map[view]struct{}{}, limit: maxStates, found: make(chan struct{})}
}

// enter finds or makes the node of a state that was reached by ev from parent.
// Of the buyers whom fresh says true, any is as good as the first.
func (g *graph) enter(key view, parent int32, ev event, evs []event, fresh func(int) bool, ended bool, bad outcome) (id int32, isNew bool) {
	if g.reduce {
		if id, ok := g.byKey[key]; ok {
			return id, false
		}
	}
	id = int32(len(g.nodes))
	n := node{key: key, parent: parent, via: ev, ended: ended, bad: bad}
	if parent >= 0 {
		n.depth = g.nodes[parent].depth + 1
	}
	n.edges = make([]edge, len(evs))
	first := 0
	for i, e := range evs {
		n.edges[i] = edge{ev: e, to: unexplored}
		if who := e.buyer(); g.reduce && who > 0 && fresh(who) {
			if first == 0 {
				first = who
			}
			if who != first {
				n.edges[i] = edge{ev: e, to: mirrored, f: footprint{keys: uint64(first)}}
			}
		}
	}
	for _, e := range n.edges {
		if e.to == unexplored {
			n.open++
			g.open++
		}
	}
	g.nodes = append(g.nodes, n)
	if g.reduce {
		g.byKey[key] = id
	}
	if len(g.nodes) >= g.limit {
		g.full, g.stop = true, true
	}
	return id, true
}

// inferEdges fills in the edges of a node that lead where another order of the
// same events has led: with a and b independent, b and then a comes to the
// state of a and then b. The node was just reached from p by b.
func (g *graph) inferEdges(id, from int32, b event) {
	n, p := &g.nodes[id], &g.nodes[from]
	if !g.infer || n.open == 0 {
		return
	}
	bi := slices.IndexFunc(p.edges, func(e edge) bool { return e.ev == b })
	for i := range n.edges {
		if a := &n.edges[i]; a.to == unexplored {
			if to, f, ok := g.diamond(p, p.edges[bi], a.ev); ok {
				a.to, a.f = to, f
				n.open--
				g.open--
				g.inferred++
			}
		}
	}
}

// diamond looks for the state of a and then b from p.
func (g *graph) diamond(p *node, b edge, a event) (to int32, f footprint, ok bool) {
	ai := slices.IndexFunc(p.edges, func(e edge) bool { return e.ev == a })
	if ai < 0 || p.edges[ai].to < 0 || !independent(a, b.ev, p.edges[ai].f, b.f) {
		return 0, f, false
	}
	first := &g.nodes[p.edges[ai].to]
	for _, e := range first.edges {
		if e.ev == b.ev && e.to >= 0 {
			return e.to, p.edges[ai].f, true
		}
	}
	return 0, f, false
}

// target is where an edge leads, in the number of schedules that go on from
// there: a mirrored one leads where its original does. Negative when unknown.
func (n *node) target(e edge) int32 {
	if e.to != mirrored {
		return e.to
	}
	original := makeEvent(e.ev.act(), int(e.f.keys), e.ev.index())
	for _, o := range n.edges {
		if o.ev == original {
			return o.to
		}
	}
	return unexplored
}

// left counts the edges that weren't followed.
func (g *graph) left() int {
	n := 0
	for i := range g.nodes {
		for _, e := range g.nodes[i].edges {
			if e.to == unexplored || e.to == underWay {
				n++
			}
		}
	}
	return n
}

// path is how to come to a node.
func (g *graph) path(id int32) []event {
	var evs []event
	for ; g.nodes[id].parent >= 0; id = g.nodes[id].parent {
		evs = append(evs, g.nodes[id].via)
	}
	slices.Reverse(evs)
	return evs
}
