package explore

// errand says what a worker is to do next.
type errand uint8

const (
	goHome errand = iota // all is done, or will be by the others
	linger               // the others may find more
	beginAll
	setOut
)

// next says what a worker is to do.
func (g *graph) next() errand {
	g.lock()
	defer g.unlock()
	switch {
	case g.stop:
		return goHome
	case !g.rooted:
		g.rooted = true
		g.busy++
		return beginAll
	case g.open > 0:
		g.busy++
		return setOut
	case g.busy > 0:
		return linger
	}
	return goHome
}

// choose takes the edge along which a worker at a node goes on: one that is to be
// explored, or else one behind which there is something to be explored. It
// returns -1 when there is neither. Any will do: chance decides, so that what is
// found first doesn't depend on the order in which events are listed.
func (g *graph) choose(id int32, chance uint64) (at int32) {
	if g.stop {
		return -1
	}
	n := &g.nodes[id]
	es := g.of(n)
	many := len(es)
	if many == 0 {
		return -1
	}
	first := int(chance % uint64(many))
	behind := int32(-1)
	for i := range many {
		at := (first + i) % many
		switch e := &es[at]; {
		case e.to == unexplored:
			e.to = underWay
			n.open--
			g.open--
			return int32(at)
		case n.open > 0 || e.to < 0:
		case g.nodes[e.to].open > 0:
			return int32(at)
		case behind < 0 && !g.finished(e.to):
			behind = int32(at)
		}
	}
	return behind
}

// finished reports whether nothing is to be explored at a node and behind it. It
// notes where that is so for good, so each node is looked through only once.
func (g *graph) finished(id int32) bool {
	n := &g.nodes[id]
	if n.closed {
		return true
	}
	if n.open > 0 {
		return false
	}
	n.closed = true // for now, in case that states lead to each other
	for _, e := range g.of(n) {
		if e.to == underWay || e.to >= 0 && !g.finished(e.to) {
			n.closed = false
			return false
		}
	}
	return true
}

// walk plays one schedule: from the beginning along what is known to what isn't,
// and on as long as there is anything to be explored.
func (k *worker) walk(e errand) error {
	g := k.g
	k.w.begin()
	k.path = k.path[:0]
	id, sure := int32(0), true // sure: the world's state is that of the node
	k.as = asItIs
	if e == beginAll {
		k.lookAround(false)
		g.lock()
		_, g.root = k.enter(-1, 0)
		g.unlock()
	} else {
		k.as = g.root.back()
	}
	explored := e == beginAll
	next := k.choose(id)
	for k.w.trouble == nil && next.at >= 0 {
		ev := k.as.event(next.ev)
		if !sure && !next.known && k.w.stateAs(k.as.back()) != next.key || !k.w.has(ev) {
			return k.goneAstray(id, next, ev)
		}
		explored = explored || !next.known
		f := k.w.apply(ev)
		k.beat.Add(1)
		k.path = append(k.path, ev)
		if k.w.trouble != nil {
			break
		}
		sure = !next.known
		switch id, next = k.arrive(id, next, f); {
		case len(k.path) > endlessEvents:
			return errCircle
		case len(k.path) > farOffEvents && next.at >= 0 && !next.known:
			k.g.giveUp(id, next)
			next.at = -1
		}
	}
	k.came(explored)
	if k.w.trouble != nil {
		return k.w.trouble
	}
	return k.w.end()
}

// A state that is known from a short schedule is also in long ones, and those behind it
// in longer ones yet. Where each attempt of a waiter changes something there is no end to
// that.
const (
	farOffEvents  = 2 * maxEvents   // no edge is explored that is as far off
	endlessEvents = 100 * maxEvents // no way is as long that doesn't go round in a circle
)

// giveUp leaves an edge that a worker has taken.
func (g *graph) giveUp(from int32, on way) {
	g.lock()
	defer g.unlock()
	g.of(&g.nodes[from])[on.at].to = tooFar
}

// way is an edge that a worker goes along.
type way struct {
	at    int32 // -1 when there is none
	ev    event
	known bool // where it leads
	key   view // of the state that it goes from
}

// choose is the graph's.
func (k *worker) choose(id int32) way {
	k.g.lock()
	defer k.g.unlock()
	return k.chooseFrom(id)
}

// chooseFrom is choose, called with g.mu held.
func (k *worker) chooseFrom(id int32) way {
	k.chance++
	at := k.g.choose(id, newView().number(k.chance).A)
	if at < 0 {
		return way{at: at}
	}
	n := &k.g.nodes[id]
	e := k.g.of(n)[at]
	return way{at: at, ev: e.ev, known: e.to >= 0, key: n.key}
}

// arrive returns the node to which an edge has led, which may be a new one, and
// where to go on from there. It does both in one step, so that whoever finds a
// state goes on from it, and nobody else takes its last edge before.
func (k *worker) arrive(from int32, on way, f footprint) (to int32, next way) {
	g := k.g
	if !on.known {
		k.lookAround(len(k.path) >= maxEvents)
	}
	g.lock()
	defer g.unlock()
	if on.known {
		e := &g.of(&g.nodes[from])[on.at]
		to, f.turn = e.to, e.turn
		k.as = f.turn.back().then(k.as)
	} else {
		f = f.turned(k.as.back())
		to, f.turn = k.enter(from, on.ev)
		e := &g.of(&g.nodes[from])[on.at]
		g.leads(e, to, f)
		g.learn(g.nodes[from].parts, on.ev, f, k.w.did, g.turned(g.nodes[to].parts, f.turn.back()))
	}
	g.inferEdges(to, from, on.ev, f.turn)
	g.composeAll()
	if g.broken {
		k.w.fail(errParts)
	}
	return to, k.chooseFrom(to)
}

// came notes that a schedule is over. One in which nothing was left to explore,
// as another worker was just there, doesn't count.
func (k *worker) came(explored bool) {
	g := k.g
	g.lock()
	defer g.unlock()
	if explored {
		g.runs++
	}
	g.events += int64(len(k.path))
	g.noteBad(k.w.outcome, g.runs)
	g.busy--
}

// noteBad notes in which run something that oversells was found first.
func (g *graph) noteBad(o outcome, run int64) {
	if o&oversold == 0 || g.firstBad > 0 {
		return
	}
	g.firstBad = run
	select {
	case <-g.found: // by another process
	default:
		close(g.found)
	}
}
