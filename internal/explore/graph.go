package explore

import (
	"slices"
	"sync"
)

// graph is every state that was found, and which event leads from where to
// where. All schedules are the paths through it, so they can be counted
// without being run. Safe for concurrent use, by several processes too when it
// lies in memory that they share.
type graph struct {
	*tally
	reduce bool // merge equal states and events that commute; else the graph is a tree
	infer  bool

	mu    sync.Mutex
	mem   *region // nil when it is this process's alone
	nodes []node
	edges []edge // of all nodes
	byKey index  // of nodes
	limit int

	prints      table[footprint, struct{}]
	composer    composer
	composes    bool
	buyers      int
	masters     int
	stock       int
	preemptions int
	turns       []turn
	links       []int32 // for each edge, one more than the next that waits for the same; 0 for none
	todo        []int32 // nodes whose edges are to be worked out
	broken      bool    // a part went another way than before
	scratch     *parts

	finals map[view]struct{} // how schedules have ended, in what counts
	found  chan struct{}     // closed when a run has oversold
}

// tally is what a graph counts, and how exploring it stands.
type tally struct {
	spin uint32 // who of several processes has it: 1 for somebody

	usedNodes, usedEdges int32 // by all processes
	usedPrints           int32
	usedParts            usedByComposer
	open                 int32 // edges to be explored
	busy                 int32 // workers on their way
	rooted               bool  // somebody has begun
	stop                 bool
	full                 bool // no more states can be kept
	plain                bool // buyers aren't exchanged
	keeps                bool // what buyers have seen who have left tells states apart
	root                 turn // from the world's buyers, at the start, to those of the first node

	runs     int64 // schedules that were run, in whole or from a new state on
	events   int64 // that were played, all repetitions included
	inferred int64 // edges known without running them
	strays   int64 // schedules in which the lock has gone another way than before
	firstBad int64 // the run that oversold first
}

// node is a state, and all that come to the same when buyers are exchanged.
// Its buyers are those of one of them.
type node struct {
	key    view
	parts  composition
	parent int32
	via    event
	first  int32 // of its edges, in the graph's
	many   int16 // edges
	open   int16 // edges to be explored
	turn   turn  // of the edge from the parent
	ended  bool  // nothing can happen any more
	closed bool  // nothing is to be explored here or behind it
	bad    outcome
}

// of are the edges of a node.
func (g *graph) of(n *node) edges { return edges(g.edges[n.first : int(n.first)+int(n.many)]) }

// edges are those of one node.
type edges []edge

type edge struct {
	ev    event
	to    int32  // a node, or one of the states below
	print uint16 // one more than the footprint's row, 0 for any; of a mirrored edge which one of the node it mirrors
	turn  turn   // from the buyers where it begins to those where it ends
}

// footprint is what an event has touched when it happened. Two events of
// different buyers that touched nothing in common, or only looked at it, come
// to the same in either order.
type footprint struct {
	keys   uint64 // keys of servers, and the inventory, as bits
	wrote  bool
	global bool // it may have to do with everything
	later  bool // time has passed
	news   news
	hazard int8 // index of the hazard that it used up, or -1
	turn   turn // from the buyers where an edge begins to those where it ends
}

// news is what others may react to besides what servers hold, as bits.
type news uint16

const (
	issued       news = 1 << iota // a fencing token, so that nobody else's is the newest
	scripts                       // other ones than before are known to a server
	signalled                     // a key was changed, though it may hold the same
	disconnected                  // buyers who were to be told of changes
	rival                         // who has changed what a master holds tries to get the lock
	changed                       // the first of several masters holds something else than before; the next bits are of the others
)

const (
	unexplored = -1
	underWay   = -2
	// mirrored: an event that comes to the same as another of the node when
	// buyers are exchanged. It isn't explored.
	mirrored = -3
	// tooFar: so many events have led to it that it isn't followed.
	tooFar = -4
)

const (
	maxSize   = 300 << 20 // bytes of the graph: keeps all processes together within 512 MB, on two cores
	maxStates = 2_000_000
)

func newGraph(reduce, infer bool) *graph {
	return &graph{
		tally: new(tally), reduce: reduce, infer: infer, limit: maxStates, byKey: newIndex(),
		finals: map[view]struct{}{}, found: make(chan struct{}), scratch: &parts{scene: &scene{}},
		prints: newTable[footprint, struct{}](),
	}
}

// lock makes the graph this goroutine's alone.
func (g *graph) lock() {
	g.mu.Lock()
	if g.mem != nil {
		acquire(&g.spin)
		g.nodes, g.edges, g.links = g.nodes[:g.usedNodes], g.edges[:g.usedEdges], g.links[:g.usedEdges]
		g.prints.resume(g.usedPrints)
		if g.composer.resume(&g.usedParts); g.reduce {
			g.byKey.resume(g.usedNodes)
		}
	}
}

func (g *graph) unlock() {
	if g.mem != nil {
		g.usedNodes, g.usedEdges = int32(len(g.nodes)), int32(len(g.edges))
		g.usedPrints = int32(len(g.prints.rows))
		g.composer.suspend(&g.usedParts)
		release(&g.spin)
	}
	g.mu.Unlock()
}

// leave gives up the memory that is shared, for whoever is late to end exploring.
func (g *graph) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	own := *g.tally
	g.tally, g.mem, g.nodes, g.edges, g.links, g.byKey, g.composer = &own, nil, nil, nil, nil, index{}, composer{}
	g.prints = table[footprint, struct{}]{}
}

// find returns the node of a key, or -1.
func (g *graph) find(key view) int32 {
	return g.byKey.find(key.A, func(id int32) bool { return g.nodes[id].key == key })
}

// add makes a node with edges that are to be explored. Where there is no room for
// those, exploring ends.
func (g *graph) add(n node, evs []event) *node {
	if g.mem != nil && len(g.edges)+len(evs) > cap(g.edges) {
		g.full, g.stop, evs = true, true, nil
	}
	n.first, n.many = int32(len(g.edges)), int16(len(evs))
	for _, e := range evs {
		g.edges = append(g.edges, edge{ev: e, to: unexplored})
		g.links = append(g.links, 0)
	}
	g.nodes = append(g.nodes, n)
	if g.reduce {
		g.byKey.add(int32(len(g.nodes)-1), func(id int32) uint64 { return g.nodes[id].key.A })
	}
	if len(g.nodes) >= g.limit || len(g.nodes)%1024 == 0 && g.size() > maxSize {
		g.full, g.stop = true, true
	}
	return &g.nodes[len(g.nodes)-1]
}

// size is how much memory g takes up, in bytes.
func (g *graph) size() int64 {
	return bytesOf(g.nodes) + bytesOf(g.edges) + bytesOf(g.links) + bytesOf(g.byKey.slots) + g.prints.size() + g.composer.size()
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
	parts  composition
}

// enter finds or makes the node of a state.
func (g *graph) enter(a arrival) (id int32) {
	if g.reduce {
		if id := g.find(a.key); id >= 0 {
			return id
		}
	}
	n := g.add(node{key: a.key, parts: a.parts, parent: a.parent, via: a.via, turn: a.turn, ended: a.ended, bad: a.bad}, a.evs)
	es := g.of(n)
	if g.reduce && g.plain {
		es.mirrorFresh(a.fresh)
	} else if g.reduce {
		es.mirror(a.same)
	}
	for _, e := range es {
		if e.to == unexplored {
			n.open++
			g.open++
		}
	}
	id = int32(len(g.nodes) - 1)
	if a.parts.common >= 0 {
		g.todo = append(g.todo, id)
	}
	return id
}

// mirror finds edges that come to the same as others.
func (es edges) mirror(same []turn) {
	if len(same) == 0 {
		return
	}
	for i := range es {
		if es[i].to != unexplored {
			continue
		}
		for _, t := range same {
			if j := es.at(t.event(es[i].ev)); j > i && es[j].to == unexplored {
				es[j].to, es[j].print, es[j].turn = mirrored, uint16(i), t
			}
		}
	}
}

// mirrorFresh is mirror for buyers who haven't done anything yet.
func (es edges) mirrorFresh(fresh func(int) bool) {
	first := 0
	for i := range es {
		who := es[i].ev.buyer()
		if who == 0 || !fresh(who) {
			continue
		}
		if first == 0 {
			first = who
		}
		if original := es[i].ev.of(first); who != first {
			es[i].to, es[i].print = mirrored, uint16(es.at(original))
		}
	}
}

// at is which edge an event is, or -1.
func (es edges) at(ev event) int {
	return slices.IndexFunc(es, func(e edge) bool { return e.ev == ev })
}

// follow is where an edge leads, and from whose buyers to whose: a mirrored one leads
// where its original does, with buyers exchanged. to is negative when that is unknown.
func (es edges) follow(e *edge) (to int32, as turn) {
	if e.to != mirrored {
		return e.to, e.turn
	}
	o := &es[e.print]
	return o.to, e.turn.back().then(o.turn)
}

// leads notes where an edge leads and what it touches.
func (g *graph) leads(e *edge, to int32, f footprint) {
	e.to, e.turn, e.print = to, f.turn, 0
	if g.infer { // else nobody asks
		e.print = g.printOf(footprint{keys: f.keys, wrote: f.wrote, global: f.global, hazard: f.hazard})
	}
}

// printOf is how an edge has a footprint.
func (g *graph) printOf(f footprint) uint16 {
	id := g.prints.find(f)
	if id < 0 && len(g.prints.rows) < maxPrints {
		id = g.prints.add(f, struct{}{})
	}
	return uint16(1 + id)
}

// maxPrints is how many footprints are told apart. Any other may have to do with
// everything.
const maxPrints = 1<<16 - 1

func (g *graph) printed(print uint16) footprint {
	if print == 0 {
		return footprint{global: true, hazard: -1}
	}
	return g.prints.rows[print-1].key
}

// touching is follow, with what the edge touches.
func (g *graph) touching(es edges, e *edge) (to int32, f footprint) {
	if e.to == mirrored {
		f = g.printed(es[e.print].print).turned(e.turn)
	} else {
		f = g.printed(e.print)
	}
	to, f.turn = es.follow(e)
	return to, f
}

func (f footprint) hash() uint64 {
	return newView().number(f.keys).flag(f.wrote).flag(f.global).number(uint64(f.hazard)).A
}

// inferEdges fills in the edges of a node that lead where another order of the
// same events has led: with a and b independent, b and then a comes to the
// state of a and then b. The node was just reached from p by b, with buyers
// turned.
func (g *graph) inferEdges(id, before int32, b event, turned turn) {
	n, p := &g.nodes[id], &g.nodes[before]
	if !g.infer || n.open == 0 {
		return
	}
	es, from := g.of(n), g.of(p)
	_, fb := g.touching(from, &from[from.at(b)])
	for i := range es {
		if a := &es[i]; a.to == unexplored {
			if to, f, ok := g.diamond(from, b, fb, turned.back().event(a.ev)); ok {
				turn := turned.back().then(f.turn)
				f = f.turned(turned)
				f.turn = turn
				g.leads(a, to, f)
				n.open--
				g.open--
				g.inferred++
			}
		}
	}
}

// diamond looks for the state of a and then b from p. The footprint is that of
// a, and its turn that of both.
func (g *graph) diamond(p edges, b event, fb footprint, a event) (to int32, f footprint, ok bool) {
	ai := p.at(a)
	if ai < 0 || g.plain && p[ai].to == mirrored {
		return 0, f, false
	}
	to, f = g.touching(p, &p[ai])
	if to < 0 || !independent(a, b, f, fb) {
		return 0, f, false
	}
	first := g.of(&g.nodes[to])
	bi := first.at(f.turn.event(b))
	if bi < 0 || g.plain && first[bi].to == mirrored {
		return 0, f, false
	}
	to, last := first.follow(&first[bi])
	f.turn = f.turn.then(last)
	return to, f, to >= 0
}

// left counts the edges that weren't followed, and those that never will be, because so
// much leads to them.
func (g *graph) left() (open, far int) {
	for i := range g.nodes {
		for _, e := range g.of(&g.nodes[i]) {
			switch e.to {
			case unexplored, underWay:
				open++
			case tooFar:
				far++
			}
		}
	}
	return open, far
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
