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
	g.mu.Lock()
	defer g.mu.Unlock()
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
	many := len(n.edges)
	if many == 0 {
		return -1
	}
	first := int(chance % uint64(many))
	behind := int32(-1)
	for i := range many {
		at := (first + i) % many
		switch e := &n.edges[at]; {
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
	for _, e := range n.edges {
		if e.to == underWay || e.to >= 0 && !g.finished(e.to) {
			return false
		}
	}
	n.closed = true
	return true
}

// walk plays one schedule: from the beginning along what is known to what isn't,
// and on as long as there is anything to be explored.
func (k *worker) walk(e errand) error {
	g := k.g
	k.w.begin()
	k.path = k.path[:0]
	id, sure := int32(0), true // sure: the world's state is that of the node
	if e == beginAll {
		k.lookAround(false)
		g.mu.Lock()
		id, _ = k.enter(-1, 0)
		g.mu.Unlock()
	}
	explored := e == beginAll
	for k.w.trouble == nil {
		at, ev, known, key := k.choose(id)
		if at < 0 {
			break
		}
		if !sure && !known && k.w.state() != key || !k.w.has(ev) {
			return k.diverged(k.path, len(k.path))
		}
		explored = explored || !known
		f := k.w.apply(ev)
		k.beat.Add(1)
		k.path = append(k.path, ev)
		if k.w.trouble != nil {
			break
		}
		from := id
		if id, sure = k.arrive(id, at, ev, f, known), !known; len(k.path) > 2*maxEvents {
			return errCircle
		}
		g.mu.Lock()
		g.inferEdges(id, from, ev)
		g.mu.Unlock()
	}
	k.came(explored)
	if k.w.trouble != nil {
		return k.w.trouble
	}
	return k.w.end()
}

// choose is the graph's.
func (k *worker) choose(id int32) (at int32, ev event, known bool, key view) {
	k.chance++
	k.g.mu.Lock()
	defer k.g.mu.Unlock()
	if at = k.g.choose(id, newView().number(k.chance).A); at < 0 {
		return at, 0, false, key
	}
	e := k.g.nodes[id].edges[at]
	return at, e.ev, e.to >= 0, k.g.nodes[id].key
}

// arrive returns the node to which an edge has led, which may be a new one.
func (k *worker) arrive(id, at int32, ev event, f footprint, known bool) int32 {
	g := k.g
	if known {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.nodes[id].edges[at].to
	}
	k.lookAround(len(k.path) >= maxEvents)
	g.mu.Lock()
	defer g.mu.Unlock()
	to, _ := k.enter(id, ev)
	e := &g.nodes[id].edges[at]
	e.to, e.f = to, f
	return to
}

// came notes that a schedule is over. One in which nothing was left to explore,
// as another worker was just there, doesn't count.
func (k *worker) came(explored bool) {
	g := k.g
	g.mu.Lock()
	defer g.mu.Unlock()
	if explored {
		g.runs++
	}
	g.events += int64(len(k.path))
	if k.w.outcome&oversold != 0 && g.firstBad == 0 {
		g.firstBad = g.runs
		close(g.found)
	}
	g.busy--
}
