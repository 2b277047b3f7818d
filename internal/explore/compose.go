package explore

import (
	"cmp"
	"slices"
)

// composer works out where events lead from what the same events have done to the
// same parts of other states. Buyers act on each other through servers, the
// inventory and time alone. So an event with which no time passes does to its
// buyer, and to what is nobody's, what it always does when those are the same; and
// to another buyer only something if that waits for a change of what servers hold.
// Most states of a large exploration are never visited: they are known from others.
type composer struct {
	commons   table[view, part[common]]
	buyers    table[view, part[outline]]
	moves     table[moveKey, learnt[move]]
	answers   table[askKey, learnt[answer]]
	hearings  table[view, learnt[reaction]]
	reactions table[reactionKey, learnt[reaction]]
}

// part is a part of states, in one turn of its buyers.
type part[T any] struct {
	turned [len(turns)]int32 // the same in other turns
	is     T
}

// common is what is nobody's.
type common struct {
	content contents
	now     uint64
	setting
}

// contents are digests of what servers hold, without times, and of what a failover
// would bring back.
type contents struct {
	all uint64
	of  [maxTurned]uint64 // masters, where there are no more than those
}

// outline is a sketch of a buyer that can be kept.
type outline struct {
	is     fate
	bought uint8
	trails uint8
	many   uint8
	pend   [maxOutlined]trait
	needs  [maxOutlined]need
	words  [maxOutlined]uint64 // of commands
}

// maxOutlined is how many pending messages of a buyer an outline has room for.
// States with more of them aren't composed.
const maxOutlined = 12

// moveKey is an event in the parts that decide what it does, turned so that its
// buyer is the first.
type moveKey struct {
	common, buyer int32
	ev            event
	could         bool // who acted last could have gone on: with a bound, this is a preemption
}

// move is what it does.
type move struct {
	common, buyer int32
}

// askKey is a command in what is nobody's, turned so that its sender is the first.
// With what that comes to, and what the sender makes of the reply, most commands'
// moves are known that were never made.
type askKey struct {
	common  int32
	act     act
	could   bool // as in moveKey
	heard   bool // its sender waits for the reply
	command uint64
}

// answer is what the command does.
type answer struct {
	common int32
	reply  uint64
}

// reactionKey is a buyer, turned so that it is the first, and what has changed.
type reactionKey struct {
	content uint64 // of servers by now
	now     uint64
	buyer   int32
	news    news
}

// reaction is what the buyer comes to.
type reaction int32

// learnt is something that is known once it was seen.
type learnt[V comparable] struct {
	is      V
	f       footprint // of the event
	known   bool
	waiting int32 // edges that want to know, as in graph.links
}

func (l *learnt[V]) sure() bool { return l != nil && l.known }

// missing is where edges wait until l is known; nil where there was no room for it.
func (l *learnt[V]) missing() *int32 {
	if l == nil {
		return nil
	}
	return &l.waiting
}

const notKnown = -1

func (v view) hash() uint64 { return v.A }

func (k moveKey) hash() uint64 {
	return newView().number(uint64(k.common)<<32 | uint64(uint32(k.buyer))).number(uint64(k.ev)).flag(k.could).A
}

func (k askKey) hash() uint64 {
	return newView().number(k.command).number(uint64(k.common)<<8 | uint64(k.act)).flag(k.could).flag(k.heard).A
}

func (k reactionKey) hash() uint64 {
	return newView().number(k.content).number(k.now).number(uint64(k.buyer)).number(uint64(k.news)).A
}

func newComposer() composer {
	return composer{
		commons: newTable[view, part[common]](), buyers: newTable[view, part[outline]](),
		moves: newTable[moveKey, learnt[move]](), reactions: newTable[reactionKey, learnt[reaction]](),
		answers: newTable[askKey, learnt[answer]](), hearings: newTable[view, learnt[reaction]](),
	}
}

// composition is the parts of a node, in the order of its buyers.
type composition struct {
	common int32 // notKnown for a node that isn't composed
	buyers [maxTurned]int32
}

var uncomposed = composition{common: notKnown}

// toFront is the turn that makes a state's n-th buyer the first, and, of those that
// do, the one in which it looks the same whichever masters it has to do with. What is
// nobody's decides where the buyer leaves it open, and then which event is meant.
func (g *graph) toFront(from composition, n int, ev event) (as turn) {
	c := &g.composer
	b, nobodys := c.buyers.at(from.buyers[n-1]), c.commons.at(from.common)
	first := true
	for _, t := range g.turns() {
		if t.of(n) != 1 {
			continue
		}
		if first || cmp.Or(cmp.Compare(b.turned[t], b.turned[as]), cmp.Compare(nobodys.turned[t], nobodys.turned[as]), cmp.Compare(t.event(ev), as.event(ev))) < 0 {
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
	to := composition{common: c.commons.at(from.common).turned[as]}
	for n := 1; n <= g.buyers; n++ {
		to.buyers[as.of(n)-1] = c.buyers.at(from.buyers[n-1]).turned[as]
	}
	return to
}

// composable reports whether what an event does can be told from parts: no time
// passes with it, and nobody's values are numbered anew.
func (g *graph) composable(is composition, ev event) bool {
	if ev.act() == deliver {
		b := g.composer.buyers.at(is.buyers[ev.buyer()-1]).is.sketch()
		return !b.pend[b.position(ev)].is(isPause)
	}
	return !ev.act().takesTime()
}

// moveOf is where an event of a state is found, and how the state is turned there.
func (g *graph) moveOf(from composition, ev event) (k moveKey, as turn) {
	c := &g.composer
	n := ev.buyer()
	is := c.commons.at(from.common).is
	k = moveKey{from.common, notKnown, ev, false}
	if last := int(is.last); g.preemptions >= 0 && last > 0 && last != n && n > 0 {
		k.could = c.buyers.at(from.buyers[last-1]).is.sketch().couldGoOn()
	}
	if n == 0 {
		return k, asItIs
	}
	as = g.toFront(from, n, ev)
	k.common, k.buyer = c.commons.at(from.common).turned[as], c.buyers.at(from.buyers[n-1]).turned[as]
	k.ev = as.event(ev)
	return k, as
}

// ask is what a move asks of servers, when what it does can be told from that and
// from what the buyer makes of the reply.
func (g *graph) ask(k moveKey) (is askKey, ok bool) {
	if a := k.ev.act(); k.buyer < 0 || a != deliver && a != loseReply && a != loseSend {
		return is, false
	}
	b := &g.composer.buyers.at(k.buyer).is
	i := b.sketch().position(k.ev)
	if b.is&(isAlert|isHeldUp) != 0 || !b.pend[i].is(isCommand) {
		return is, false
	}
	return askKey{k.common, k.ev.act(), k.could, !b.pend[i].is(isOrphan), b.words[i]}, true
}

// hearing is where it is found what a buyer makes of a reply. It also knows the
// time, and whether it asks the same of the same servers as before.
func (g *graph) hearing(k moveKey, a answer, f footprint) view {
	c := &g.composer
	v := newView().number(uint64(k.buyer)).number(uint64(k.ev))
	b := c.buyers.at(k.buyer).is.sketch()
	p := b.pend[b.position(k.ev)]
	if p.is(isOrphan) && b.is&isShedding == 0 {
		return v
	}
	from, to := &c.commons.at(k.common).is, &c.commons.at(a.common).is
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
	k = reactionKey{buyer: c.buyers.at(from.buyers[n-1]).turned[as], news: f.turned(as).news}
	if c.buyers.at(k.buyer).is.is&(isAlert|isShedding) != 0 || g.masters == 0 {
		k.content = c.commons.at(c.commons.at(now).turned[as]).is.content.all
	}
	if f.news&(signalled|disconnected) != 0 { // it may send something, and when counts
		k.now = c.commons.at(now).is.now
	}
	return k, as
}

// changes reports whether an event does anything that others may react to.
func (g *graph) changes(from, to int32, f footprint) bool {
	c := &g.composer
	return f.news != 0 || c.commons.at(from).is.content != c.commons.at(to).is.content
}

// reacts reports whether the n-th buyer of a state may react to what others do.
func (g *graph) reacts(from composition, n int, f footprint) bool {
	is := g.composer.buyers.at(from.buyers[n-1]).is.is
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
	e.to, e.f = next, f
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
		f, to.common = a.f.turned(home), c.commons.at(a.is.common).turned[home]
		to.buyers[ev.buyer()-1] = c.buyers.at(int32(h.is)).turned[home]
	} else {
		m := c.moves.want(k)
		if !m.sure() {
			return uncomposed, f, m.missing()
		}
		f, to.common = m.f.turned(home), c.commons.at(m.is.common).turned[home]
		if n := ev.buyer(); n > 0 {
			to.buyers[n-1] = c.buyers.at(m.is.buyer).turned[home]
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
		to.buyers[n-1] = c.buyers.at(int32(r.is)).turned[as.back()]
	}
	return to, f, nil
}

// canonical is as that of parts.
func (g *graph) canonical(is composition) (key view, as turn, same []turn) {
	p := g.scratch
	c := &g.composer
	for _, t := range g.turns() {
		p.common[t] = c.commons.rows[c.commons.at(is.common).turned[t]].key
		for n := range g.buyers {
			p.buyers[n][t] = c.buyers.rows[c.buyers.at(is.buyers[n]).turned[t]].key
		}
	}
	return p.canonical(g.turns(), nil)
}

// sceneOf is what of a state decides what can happen next.
func (g *graph) sceneOf(is composition) *scene {
	c := &g.composer
	s := g.scratch.scene
	s.setting, s.buyers = c.commons.at(is.common).is.setting, s.buyers[:0]
	s.stock, s.preemptions, s.masters = g.stock, g.preemptions, g.masters
	for n := range g.buyers {
		s.buyers = append(s.buyers, *c.buyers.at(is.buyers[n]).is.sketch())
	}
	return s
}

// sketch is what the outline has kept. It shares its memory.
func (o *outline) sketch() *sketch {
	return &sketch{is: o.is, bought: o.bought, trails: o.trails, pend: o.pend[:o.many], needs: o.needs[:o.many]}
}

// knowsAll reports whether what becomes of a buyer that hears a reply may have to do
// with what any master holds: its attempt may be over with it, and then that decides
// whether it asks again, and what of it does nothing any more.
func (b *sketch) knowsAll() bool {
	return len(b.pend) < 2 && b.is&isTrying != 0 || slices.ContainsFunc(b.pend, func(p trait) bool { return p.is(isOrphan) })
}

// resume takes over what other processes have added.
func (c *composer) resume(used *[6]int32) {
	c.commons.resume(used[0])
	c.buyers.resume(used[1])
	c.moves.resume(used[2])
	c.reactions.resume(used[3])
	c.answers.resume(used[4])
	c.hearings.resume(used[5])
}

// suspend hands over what this one has.
func (c *composer) suspend(used *[6]int32) {
	*used = [6]int32{
		int32(len(c.commons.rows)), int32(len(c.buyers.rows)), int32(len(c.moves.rows)), int32(len(c.reactions.rows)),
		int32(len(c.answers.rows)), int32(len(c.hearings.rows)),
	}
}
