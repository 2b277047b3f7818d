package explore

import "cmp"

// toFront is the turn that makes a state's n-th buyer the first, and, of those that
// do, the one in which it looks the same whichever masters it has to do with. What is
// nobody's decides where the buyer leaves it open, and then which event is meant.
func (g *graph) toFront(from composition, n int, ev event) (as turn) {
	c := &g.composer
	b, nobodys := from.buyers[n-1], from.common
	first := true
	for _, t := range g.turns {
		if t.of(n) != 1 {
			continue
		}
		if first || cmp.Or(cmp.Compare(c.buyers.turned(b, t), c.buyers.turned(b, as)), cmp.Compare(c.commons.turned(nobodys, t), c.commons.turned(nobodys, as)), cmp.Compare(t.event(ev), as.event(ev))) < 0 {
			as, first = t, false
		}
	}
	return as
}

// turned is a composition with buyers exchanged.
func (g *graph) turned(from composition, as turn) composition {
	if from.common < 0 || as == asItIs {
		return from
	}
	c := &g.composer
	to := composition{common: c.commons.turned(from.common, as)}
	for n := 1; n <= g.buyers; n++ {
		to.buyers[as.of(n)-1] = c.buyers.turned(from.buyers[n-1], as)
	}
	return to
}

// composable reports whether what an event does can be told from parts: no time
// passes with it, and nobody's values are numbered anew.
func (g *graph) composable(is composition, ev event) bool {
	if ev.act() == deliver {
		b := g.composer.buyers.at(is.buyers[ev.buyer()-1]).sketch()
		return !b.pend[b.position(ev)].is(isPause)
	}
	return !ev.act().takesTime()
}

// moveOf is where an event of a state is found, and how the state is turned there.
func (g *graph) moveOf(from composition, ev event) (k moveKey, as turn) {
	c := &g.composer
	n := ev.buyer()
	is := c.commons.at(from.common)
	k = moveKey{from.common, notKnown, ev, false}
	if last := int(is.last); g.preemptions >= 0 && last > 0 && last != n && n > 0 {
		k.could = c.buyers.at(from.buyers[last-1]).sketch().couldGoOn()
	}
	if n == 0 {
		return k, asItIs
	}
	as = g.toFront(from, n, ev)
	k.common, k.buyer = c.commons.turned(from.common, as), c.buyers.turned(from.buyers[n-1], as)
	k.ev = as.event(ev)
	return k, as
}

// ask is what a move asks of servers, when what it does can be told from that and
// from what the buyer makes of the reply.
func (g *graph) ask(k moveKey) (is askKey, ok bool) {
	if a := k.ev.act(); k.buyer < 0 || a != deliver && a != loseReply && a != loseSend {
		return is, false
	}
	b := g.composer.buyers.at(k.buyer)
	i := b.sketch().position(k.ev)
	if b.is&(isAlert|isHeldUp) != 0 || !b.pend[i].is(isCommand) {
		return is, false
	}
	return askKey{k.common, k.ev.act(), k.could, !b.pend[i].is(isOrphan), g.composer.words[b.first+int32(i)]}, true
}

// hearing is where it is found what a buyer makes of a reply. It also knows the
// time, and whether it asks the same of the same servers as before. What it has given
// up on it doesn't hear of.
func (g *graph) hearing(k moveKey, a answer, f footprint) view {
	c := &g.composer
	v := newView().number(uint64(k.buyer)).number(uint64(k.ev))
	b := c.buyers.at(k.buyer).sketch()
	p := b.pend[b.position(k.ev)]
	if p.is(isOrphan) && b.is&isShedding == 0 {
		return v.number(uint64(f.news & scripts)) // what it was refused before says nothing, then
	}
	from, to := c.commons.at(k.common), c.commons.at(a.common)
	v = v.number(a.reply).flag(f.wrote).number(uint64(f.news)).number(from.now)
	if g.masters == 0 || g.masters > maxTurned || b.knowsAll() {
		return v.number(from.content.all).number(to.content.all)
	}
	for i := range g.masters {
		if i == k.ev.server() || b.trails&(1<<i) != 0 {
			v = v.number(uint64(i)).number(from.content.of[i]).number(to.content.of[i])
		}
	}
	return v
}

// reactionOf is where the reaction of a state's n-th buyer is found, and how it is
// turned there.
func (g *graph) reactionOf(from composition, n int, now int32, f footprint) (k reactionKey, as turn) {
	c := &g.composer
	as = g.toFront(composition{common: now, buyers: from.buyers}, n, 0)
	k = reactionKey{buyer: c.buyers.turned(from.buyers[n-1], as), news: f.turned(as).news}
	if c.buyers.at(k.buyer).is&(isAlert|isShedding) != 0 || g.masters == 0 {
		k.content = c.commons.at(c.commons.turned(now, as)).content.all
		k.stays = c.commons.at(from.common).content.now == c.commons.at(now).content.now
	}
	if f.news&(signalled|disconnected) != 0 { // it may send something, and when counts
		k.now = c.commons.at(now).now
	}
	return k, as
}

// changes reports whether an event does anything that others may react to.
func (g *graph) changes(from, to int32, f footprint) bool {
	c := &g.composer
	return f.news != 0 || c.commons.at(from).content != c.commons.at(to).content
}

// reacts reports whether the n-th buyer of a state may react to what others do.
func (g *graph) reacts(from composition, n int, f footprint) bool {
	is := g.composer.buyers.at(from.buyers[n-1]).is
	return is&(isAlert|isCalm|isShedding) != 0 || is&isTrailing != 0 && f.news&scripts != 0 || is&isNewest != 0 && f.news&issued != 0
}

// composeAll works out the edges of nodes that are new, and of those that come of
// it.
func (g *graph) composeAll() {
	for len(g.todo) > 0 && !g.stop {
		id := g.todo[len(g.todo)-1]
		g.todo = g.todo[:len(g.todo)-1]
		for at := range int32(g.nodes[id].many) {
			if g.of(&g.nodes[id])[at].to == unexplored {
				g.compose(id, at)
			}
		}
	}
	g.todo = g.todo[:0]
}

// compose works out where an edge leads. When something for that isn't known yet,
// it is done as soon as it is.
func (g *graph) compose(id, at int32) {
	n := &g.nodes[id]
	edge := n.first + at
	ev := g.edges[edge].ev
	if n.parts.common < 0 || !g.composable(n.parts, ev) {
		return
	}
	to, f, missing := g.lead(n.parts, ev)
	if missing != nil {
		g.links[edge] = *missing
		*missing = edge + 1
		return
	}
	if to.common < 0 {
		return
	}
	key, as, same := g.canonical(to)
	next := g.find(key)
	if next < 0 {
		to = g.turned(to, as)
		s := g.sceneOf(to)
		a := arrival{key: key, parent: id, via: ev, turn: as, evs: s.enabled(nil), same: same, bad: s.outcome, parts: to}
		if a.ended = len(a.evs) == 0; a.ended {
			a.bad = s.conclude()
			g.ends(s.final(a.bad))
		}
		next = g.enter(a)
		g.noteBad(a.bad, g.runs+1)
	}
	e := &g.edges[edge]
	f.turn = as
	g.leads(e, next, f)
	g.nodes[id].open--
	g.open--
	g.inferred++
}

// lead puts together where an event leads. What is missing for it is where edges
// wait.
func (g *graph) lead(from composition, ev event) (to composition, f footprint, missing *int32) {
	c := &g.composer
	k, as := g.moveOf(from, ev)
	home := as.back()
	to = from
	if ask, ok := g.ask(k); ok {
		a := c.answers.want(ask)
		if !a.sure() {
			return uncomposed, f, a.missing()
		}
		h := c.hearings.want(g.hearing(k, a.is, a.f))
		if !h.sure() {
			return uncomposed, f, h.missing()
		}
		f, to.common = a.f.turned(home), c.commons.turned(a.is.common, home)
		to.buyers[ev.buyer()-1] = c.buyers.turned(int32(h.is), home)
	} else {
		m := c.moves.want(k)
		if !m.sure() {
			return uncomposed, f, m.missing()
		}
		f, to.common = m.f.turned(home), c.commons.turned(m.is.common, home)
		if n := ev.buyer(); n > 0 {
			to.buyers[n-1] = c.buyers.turned(m.is.buyer, home)
		}
	}
	if !g.changes(from.common, to.common, f) {
		return to, f, nil
	}
	for n := 1; n <= g.buyers; n++ {
		if n == ev.buyer() || !g.reacts(from, n, f) {
			continue
		}
		k, as := g.reactionOf(from, n, to.common, f)
		r := c.reactions.want(k)
		if !r.sure() {
			return uncomposed, f, r.missing()
		}
		to.buyers[n-1] = c.buyers.turned(int32(r.is), as.back())
	}
	return to, f, nil
}

// canonical is as that of parts.
func (g *graph) canonical(is composition) (key view, as turn, same []turn) {
	p := g.scratch
	c := &g.composer
	for _, t := range g.turns {
		p.common[t] = c.commons.rows[c.commons.turned(is.common, t)].key
		for n := range g.buyers {
			p.buyers[n][t] = c.buyers.rows[c.buyers.turned(is.buyers[n], t)].key
		}
	}
	return p.canonical(g.turns, nil)
}

// sceneOf is what of a state decides what can happen next.
func (g *graph) sceneOf(is composition) *scene {
	c := &g.composer
	s := g.scratch.scene
	s.setting, s.buyers = c.commons.at(is.common).setting, s.buyers[:0]
	s.stock, s.preemptions, s.masters = g.stock, g.preemptions, g.masters
	for n := range g.buyers {
		s.buyers = append(s.buyers, *c.buyers.at(is.buyers[n]).sketch())
	}
	return s
}
