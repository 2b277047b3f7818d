package explore

import (
	"cmp"
	"slices"
	"sort"
)

// intern keeps a state's parts, and returns them with buyers exchanged.
func (g *graph) intern(p *parts, as turn) composition {
	if !g.composes || g.plain || p.alone {
		return uncomposed
	}
	c := &g.composer
	whole := composition{common: internPart(&c.commons, g.turns, &p.common, func(t turn) common {
		is := common{p.contents[t], p.now, p.scene.setting}
		is.setting = is.setting.turned(t)
		return is
	})}
	if whole.common < 0 {
		return uncomposed
	}
	for i := range p.scene.buyers {
		b := &p.scene.buyers[i]
		if len(b.pend) > maxOutlined {
			return uncomposed
		}
		if whole.buyers[i] = internPart(&c.buyers, g.turns, &p.buyers[i], func(t turn) outline { return c.outline(b, t) }); whole.buyers[i] < 0 {
			return uncomposed
		}
	}
	return g.turned(whole, as)
}

// internPart keeps a part in every turn, and returns the row of it as it is, or -1
// when there is no room.
func internPart[T any](t *partTable[T], all []turn, keys *[len(turns)]view, is func(turn) T) int32 {
	if id := t.find(keys[asItIs]); id >= 0 {
		return id
	}
	if t.fixed && len(t.rows)+len(all) > cap(t.rows) {
		return -1
	}
	orbit := int32(len(t.orbits))
	t.orbits = append(t.orbits, make([]int32, t.each)...)
	for _, as := range all {
		id := t.find(keys[as])
		if id < 0 {
			id = t.add(keys[as], is(as))
			t.seats = append(t.seats, seat{orbit, as})
		}
		t.orbits[orbit+int32(as)] = id
	}
	return t.orbits[orbit]
}

// outline keeps b's outline with buyers and masters exchanged.
func (c *composer) outline(b *sketch, as turn) outline {
	is := outline{is: b.is, bought: b.bought, many: uint8(len(b.pend)), first: int32(len(c.words))}
	for i := range maxTurned {
		is.trails |= b.trails >> i & 1 << as.server(i)
	}
	var room [maxOutlined]int
	order := room[:len(b.pend)]
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(as.place(b.pend[i].master()), as.place(b.pend[j].master())) })
	for i, at := range order {
		is.pend[i], is.needs[i] = b.pend[at], b.needs[at]
		c.words = append(c.words, b.of.pend[at].words[as])
		if m := is.pend[i].master(); m > 0 {
			is.pend[i] = is.pend[i]&(1<<masterBits-1) | trait(1+as.server(m-1))<<masterBits
		}
	}
	return is
}

// place is where what is on the way to a master comes among a buyer's messages.
func (t turn) place(master int) int {
	if master == 0 {
		return MaxMasters // what goes to no master comes last, or there are none
	}
	return t.server(master - 1)
}

// learn notes what an event has done that was played: before and after are the
// states' parts, in the same order of buyers.
func (g *graph) learn(before composition, ev event, f footprint, did deed, after composition) {
	if before.common < 0 || after.common < 0 || !g.composable(before, ev) || f.later {
		return
	}
	c := &g.composer
	changed := g.changes(before.common, after.common, f)
	for n := 1; n <= g.buyers; n++ {
		if n == ev.buyer() {
			continue
		}
		if changed && g.reacts(before, n, f) {
			k, as := g.reactionOf(before, n, after.common, f)
			note(g, c.reactions.want(k), reaction(c.buyers.turned(after.buyers[n-1], as)), f)
		} else if before.buyers[n-1] != after.buyers[n-1] {
			return // that one has moved by its own clock
		}
	}
	k, as := g.moveOf(before, ev)
	common, buyer := c.commons.turned(after.common, as), int32(notKnown)
	if n := ev.buyer(); n > 0 {
		buyer = c.buyers.turned(after.buyers[n-1], as)
	}
	ask, ok := g.ask(k)
	f = f.turned(as)
	if !ok {
		note(g, c.moves.want(k), move{common, buyer}, f)
		return
	}
	if did.commands > 1 {
		return
	}
	a := answer{common, did.reply}
	note(g, c.hearings.want(g.hearing(k, a, f)), reaction(buyer), f)
	note(g, c.answers.want(ask), a, f)
}

// note notes what was seen, and works out what has waited for it.
func note[V comparable](g *graph, l *learnt[V], is V, f footprint) {
	switch {
	case l == nil:
	case !l.known:
		waiting := l.waiting
		*l = learnt[V]{is: is, f: f, known: true}
		g.wake(waiting)
	default:
		g.broken = g.broken || l.is != is
	}
}

// wake works out edges that have waited for something.
func (g *graph) wake(waiting int32) {
	for waiting != 0 {
		i := waiting - 1
		waiting, g.links[i] = g.links[i], 0
		if g.edges[i].to != unexplored {
			continue
		}
		id := g.nodeOf(i)
		g.compose(id, i-g.nodes[id].first)
	}
}

// nodeOf is the node that has an edge.
func (g *graph) nodeOf(edge int32) int32 {
	return int32(sort.Search(len(g.nodes), func(i int) bool { return g.nodes[i].first > edge })) - 1
}
