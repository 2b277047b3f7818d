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
	plain  bool // buyers aren't exchanged

	root turn // from the world's buyers, at the start, to those of the first node

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

// node is a state, and all that come to the same when buyers are exchanged.
// Its buyers are those of one of them.
type node struct {
	key    view
	parent int32
	via    event
	turn   turn // of the edge from the parent
	ended  bool // nothing can happen any more
	closed bool // nothing is to be explored here or behind it
	bad    outcome
	open   int16 // edges to be explored
	edges  []edge
}

type edge struct {
	ev event
	to int32 // a node, or one of the states below
	f  footprint
}

// footprint is what an event has touched when it happened. Two events of
// different buyers that touched nothing in common, or only looked at it, come
// to the same in either order.
type footprint struct {
	keys   uint64 // keys of servers, and the inventory, as bits
	wrote  bool
	global bool // it may have to do with everything
	hazard int8 // index of the hazard that it used up, or -1
	turn   turn // from the buyers where an edge begins to those where it ends
}

const (
	unexplored = -1
	underWay   = -2
	// mirrored: an event that comes to the same as another of the node when
	// buyers are exchanged. It isn't explored; f.keys is where the other is.
	mirrored = -3
)

// maxStates keeps the whole process within 512 MB.
const maxStates = 800_000

func newGraph(reduce, infer bool) *graph {
	return &graph{reduce: reduce, infer: infer, byKey: map[view]int32{}, finals: map[view]struct{}{}, limit: maxStates, found: make(chan struct{})}
}

// arrival is a state that was reached.
type arrival struct {
	key    view
	parent int32
	via    event // of the parent's buyers
	turn   turn  // from the parent's buyers to those of the state
	evs    []event
	same   []turn         // exchanges of buyers that leave it as it is, but for the one of nobody
	fresh  func(int) bool // where buyers aren't exchanged: of these, any is as good as the first
	ended  bool
	bad    outcome
}

// enter finds or makes the node of a state.
func (g *graph) enter(a arrival) (id int32, isNew bool) {
	if g.reduce {
		if id, ok := g.byKey[a.key]; ok {
			return id, false
		}
	}
	id = int32(len(g.nodes))
	n := node{key: a.key, parent: a.parent, via: a.via, turn: a.turn, ended: a.ended, bad: a.bad}
	n.edges = make([]edge, len(a.evs))
	for i, e := range a.evs {
		n.edges[i] = edge{ev: e, to: unexplored}
	}
	if g.reduce && g.plain {
		n.mirrorFresh(a.fresh)
	} else if g.reduce {
		n.mirror(a.same)
	}
	for _, e := range n.edges {
		if e.to == unexplored {
			n.open++
			g.open++
		}
	}
	g.nodes = append(g.nodes, n)
	if g.reduce {
		g.byKey[a.key] = id
	}
	if len(g.nodes) >= g.limit {
		g.full, g.stop = true, true
	}
	return id, true
}

// mirror finds edges that come to the same as others.
func (n *node) mirror(same []turn) {
	if len(same) == 0 {
		return
	}
	for i := range n.edges {
		if n.edges[i].to != unexplored {
			continue
		}
		for _, t := range same {
			if j := n.at(t.event(n.edges[i].ev)); j > i && n.edges[j].to == unexplored {
				n.edges[j].to, n.edges[j].f = mirrored, footprint{keys: uint64(i), turn: t}
			}
		}
	}
}

// mirrorFresh is mirror for buyers who haven't done anything yet.
func (n *node) mirrorFresh(fresh func(int) bool) {
	first := 0
	for i := range n.edges {
		who := n.edges[i].ev.buyer()
		if who == 0 || !fresh(who) {
			continue
		}
		if first == 0 {
			first = who
		}
		if original := makeEvent(n.edges[i].ev.act(), first, n.edges[i].ev.index()); who != first {
			n.edges[i].to, n.edges[i].f = mirrored, footprint{keys: uint64(n.at(original))}
		}
	}
}

// at is which edge an event is, or -1.
func (n *node) at(ev event) int {
	return slices.IndexFunc(n.edges, func(e edge) bool { return e.ev == ev })
}

// follow is where an edge leads, and what it touches: a mirrored one leads where
// its original does, with buyers exchanged. to is negative when that is unknown.
func (n *node) follow(e *edge) (to int32, f footprint) {
	if e.to != mirrored {
		return e.to, e.f
	}
	o := &n.edges[e.f.keys]
	f = o.f
	f.turn = e.f.turn.back().then(o.f.turn)
	return o.to, f
}

// inferEdges fills in the edges of a node that lead where another order of the
// same events has led: with a and b independent, b and then a comes to the
// state of a and then b. The node was just reached from p by b, with buyers
// turned.
func (g *graph) inferEdges(id, from int32, b event, turned turn) {
	n, p := &g.nodes[id], &g.nodes[from]
	if !g.infer || n.open == 0 {
		return
	}
	_, fb := p.follow(&p.edges[p.at(b)])
	for i := range n.edges {
		if a := &n.edges[i]; a.to == unexplored {
			if to, f, ok := g.diamond(p, b, fb, turned.back().event(a.ev)); ok {
				f.turn = turned.back().then(f.turn)
				a.to, a.f = to, f
				n.open--
				g.open--
				g.inferred++
			}
		}
	}
}

// diamond looks for the state of a and then b from p. The footprint is that of
// a, and its turn that of both.
func (g *graph) diamond(p *node, b event, fb footprint, a event) (to int32, f footprint, ok bool) {
	ai := p.at(a)
	if ai < 0 || g.plain && p.edges[ai].to == mirrored {
		return 0, f, false
	}
	to, f = p.follow(&p.edges[ai])
	if to < 0 || !independent(a, b, f, fb) {
		return 0, f, false
	}
	first := &g.nodes[to]
	bi := first.at(f.turn.event(b))
	if bi < 0 || g.plain && first.edges[bi].to == mirrored {
		return 0, f, false
	}
	to, last := first.follow(&first.edges[bi])
	f.turn = f.turn.then(last.turn)
	return to, f, to >= 0
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
	var way []int32
	for ; g.nodes[id].parent >= 0; id = g.nodes[id].parent {
		way = append(way, id)
	}
	slices.Reverse(way)
	var evs []event
	as := g.root.back()
	for _, id := range way {
		evs = append(evs, as.event(g.nodes[id].via))
		as = g.nodes[id].turn.back().then(as)
	}
	return evs
}
