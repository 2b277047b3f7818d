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
	stack  []task // edges to be explored
	rooted bool   // somebody has begun
	busy   int    // workers on a task
	stop   bool
	full   bool // no more states can be kept
	limit  int

	finals map[view]struct{} // how schedules have ended, in what counts

	runs     int64 // schedules that were run, in whole or from a new state on
	events   int64 // that were played, all repetitions included
	inferred int64 // edges known without running them
	firstBad int64 // the run that oversold first
}

// node is a state.
type node struct {
	key    view
	parent int32
	via    event
	depth  int16
	ended  bool // nothing can happen any more
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

type task struct{ node, edge int32 }

// maxStates keeps the whole process within 512 MB.
const maxStates = 800_000

func newGraph(reduce, infer bool) *graph {
	return &graph{reduce: reduce, infer: infer, byKey: map[view]int32{}, finals: map[view]struct{}{}, limit: maxStates}
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
	g.nodes = append(g.nodes, n)
	if g.reduce {
		g.byKey[key] = id
	}
	if len(g.nodes) >= g.limit {
		g.full, g.stop = true, true
	}
	return id, true
}

// inferEdges fills in the edges of a new node that lead where another order of
// the same events has led: with a and b independent, b and then a comes to the
// state of a and then b.
func (g *graph) inferEdges(id int32) {
	n := &g.nodes[id]
	if !g.infer || n.parent < 0 {
		return
	}
	p := &g.nodes[n.parent]
	bi := slices.IndexFunc(p.edges, func(e edge) bool { return e.ev == n.via })
	b := p.edges[bi]
	for i := range n.edges {
		if a := &n.edges[i]; a.to == unexplored {
			if to, f, ok := g.diamond(p, b, a.ev); ok {
				a.to, a.f = to, f
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

// nextEdge takes an unexplored edge of a node to go on with, and leaves the
// others for later.
func (g *graph) nextEdge(id int32) int32 {
	n := &g.nodes[id]
	next := int32(-1)
	for i := len(n.edges) - 1; i >= 0; i-- {
		if n.edges[i].to != unexplored {
			continue
		}
		if next >= 0 {
			g.stack = append(g.stack, task{id, next})
		}
		next = int32(i)
	}
	if next >= 0 {
		n.edges[next].to = underWay
	}
	return next
}

// take returns a task, or says to wait, or that there will be none.
func (g *graph) take() (t task, got, wait bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.stop && !g.rooted {
		g.rooted = true
		g.busy++
		return task{-1, -1}, true, false
	}
	for !g.stop && len(g.stack) > 0 {
		t = g.stack[len(g.stack)-1]
		g.stack = g.stack[:len(g.stack)-1]
		e := &g.nodes[t.node].edges[t.edge]
		if e.to != unexplored {
			continue
		}
		if g.infer && g.nodes[t.node].parent >= 0 {
			n := &g.nodes[t.node]
			p := &g.nodes[n.parent]
			bi := slices.IndexFunc(p.edges, func(x edge) bool { return x.ev == n.via })
			if to, f, ok := g.diamond(p, p.edges[bi], e.ev); ok {
				e.to, e.f = to, f
				g.inferred++
				continue
			}
		}
		e.to = underWay
		g.busy++
		return t, true, false
	}
	return t, false, g.busy > 0 && !g.stop
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

// path is how to come to a node.
func (g *graph) path(id int32) []event {
	var evs []event
	for ; g.nodes[id].parent >= 0; id = g.nodes[id].parent {
		evs = append(evs, g.nodes[id].via)
	}
	slices.Reverse(evs)
	return evs
}
