package explore

import "slices"

// composer works out where events lead from what the same events have done to the
// same parts of other states. Buyers act on each other through servers, the
// inventory and time alone. So an event with which no time passes does to its
// buyer, and to what is nobody's, what it always does when those are the same; and
// to another buyer only something if that waits for a change of what servers hold.
// Most states of a large exploration are never visited: they are known from others.
type composer struct {
	commons   partTable[common]
	buyers    partTable[outline]
	moves     table[moveKey, learnt[move]]
	answers   table[askKey, learnt[answer]]
	hearings  table[view, learnt[reaction]]
	reactions table[reactionKey, learnt[reaction]]
	words     []uint64 // of commands, for outlines
}

// partTable has the parts of states, each in every turn of its buyers.
type partTable[T any] struct {
	table[view, T]
	seats  []seat  // of parts
	orbits []int32 // rows of the same part in other turns, so many for each part
	each   int
}

// seat is which turn of an orbit's first a part is, and where the orbit begins.
type seat struct {
	orbit int32
	as    turn
}

// turned is the part of a row with buyers exchanged.
func (t *partTable[T]) turned(id int32, as turn) int32 {
	at := &t.seats[id]
	return t.orbits[at.orbit+int32(at.as.then(as))]
}

// resume takes over what other processes have added.
func (t *partTable[T]) resume(parts, orbits int32) {
	if t.table.resume(parts); t.fixed {
		t.seats, t.orbits = t.seats[:parts], t.orbits[:orbits]
	}
}

// size is how much memory t takes up, in bytes.
func (t *partTable[T]) size() int64 { return t.table.size() + bytesOf(t.seats) + bytesOf(t.orbits) }

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
	now uint64            // without what a failover would bring back
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
	first  int32 // of its words, in the composer's
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
	stays   bool   // they hold what they did
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
	return newView().number(k.content).flag(k.stays).number(k.now).number(uint64(k.buyer)).number(uint64(k.news)).A
}

func newComposer(masters int) composer {
	each := turnsWith(masters)
	return composer{
		commons: partTable[common]{table: newTable[view, common](), each: each}, buyers: partTable[outline]{table: newTable[view, outline](), each: each},
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

// usedByComposer is how much there is of each of a composer's lists.
type usedByComposer struct {
	commons, buyers, moves, reactions, answers, hearings, words, orbitsOfCommons, orbitsOfBuyers int32
}

// resume takes over what other processes have added.
func (c *composer) resume(used *usedByComposer) {
	c.commons.resume(used.commons, used.orbitsOfCommons)
	c.buyers.resume(used.buyers, used.orbitsOfBuyers)
	c.moves.resume(used.moves)
	c.reactions.resume(used.reactions)
	c.answers.resume(used.answers)
	c.hearings.resume(used.hearings)
	c.words = c.words[:used.words]
}

// size is how much memory c takes up, in bytes.
func (c *composer) size() int64 {
	return c.commons.size() + c.buyers.size() + c.moves.size() + c.reactions.size() + c.answers.size() + c.hearings.size() + bytesOf(c.words)
}

// suspend hands over what this one has.
func (c *composer) suspend(used *usedByComposer) {
	*used = usedByComposer{
		int32(len(c.commons.rows)), int32(len(c.buyers.rows)), int32(len(c.moves.rows)), int32(len(c.reactions.rows)),
		int32(len(c.answers.rows)), int32(len(c.hearings.rows)), int32(len(c.words)), int32(len(c.commons.orbits)), int32(len(c.buyers.orbits)),
	}
}
