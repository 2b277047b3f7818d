package explore

// scene is what decides which events can happen next.
type scene struct {
	setting
	buyers      []sketch
	stock       int // at the start
	masters     int // 0 for one server
	preemptions int // at most; less than 0 for no bound
}

// setting is the part of it that is nobody's.
type setting struct {
	left          left
	last          uint8 // who acted last
	hops          int16
	outcome       outcome
	units, orders int16
	canBeSlow     bool              // a call may still take longer
	late          bool              // there is time left for delays
	anyTTL        bool              // a key has an expiry
	anything      [MaxMasters]bool  // which servers hold a key
	logged        [MaxMasters]uint8 // how many of its newest writes each may lose
	holds         [MaxMasters]value // what the lock's key is at each
	hopeless      bool              // time has passed, and brought nothing
	vain          bool              // it has brought nothing but renewals for long
	remains       remains
}

// sketch is the part that is a buyer's.
type sketch struct {
	is     fate
	bought uint8
	trails uint8 // masters, as bits, that have refused it something which it may come back to
	pend   []trait
	needs  []need // of those that it has given up on
	of     *buyer // nil when it isn't of a world
}

// fate says how a purchase stands, as bits.
type fate uint16

const (
	isDone fate = 1 << iota
	isCrashed
	isHeldUp
	isInside   // it has read that there is stock, and hasn't written what it leaves
	isAlert    // it is told of changes, or waits for a change of what a server holds
	isNewest   // it has the newest fencing token
	isTrailing // it knows what it was refused before
	isCalm     // nobody has stirred what it found in its attempt to get the lock
	isTrying   // it is in the middle of one, or something of one is on its way
	isClashing // it waits until nobody else does
	isShedding // something that it has given up on may do nothing any more
)

// fate is how b's purchase stands.
func (b *buyer) fate() (f fate) {
	for i, is := range [...]bool{b.done, b.crashed, b.held, b.inside} {
		if is {
			f |= 1 << i
		}
	}
	return f
}

func (b *sketch) alive() bool { return b.is&(isDone|isCrashed) == 0 }
func (b *sketch) held() bool  { return b.is&isHeldUp != 0 }

// inside reports whether the buyer will write what its purchase leaves.
func (b *sketch) inside() bool { return b.alive() && b.is&isInside != 0 }

// turned is the same with buyers and servers exchanged.
func (s setting) turned(as turn) setting {
	to := s
	to.last, to.remains = uint8(as.of(int(s.last))), s.remains.turned(as)
	for i := range s.anything {
		to.anything[as.server(i)], to.logged[as.server(i)], to.holds[as.server(i)] = s.anything[i], s.logged[i], s.holds[i].turned(as)
	}
	return to
}

// trait says what a pending message is, as bits, and on the way to which of several
// masters.
type trait uint16

const (
	isCommand trait = 1 << iota
	isCall
	isOrphan  // nobody waits for the reply
	isBlocked // it would only go round in a circle
	isTwin    // an orphan like the one before it: it doesn't matter which comes first
	isPause   // its buyer is about to ask again
	isOld     // it was sent before its buyer's present attempt
	isBehind  // its buyer has to hear something else first
	isStep    // of a purchase, in the inventory
)

// masterBits is where in a trait the number of the master begins.
const masterBits = 12

func (p trait) master() int { return int(p >> masterBits) }

// position is where the message of an event stands.
func (b *sketch) position(ev event) int {
	return ev.position(len(b.pend), func(i int) int { return b.pend[i].master() })
}

// place is which of the messages to the same master the i-th is.
func (b *sketch) place(i int) int {
	if b.pend[i].master() == 0 {
		return i
	}
	n := 0
	for i-n > 0 && b.pend[i-n-1].master() == b.pend[i].master() {
		n++
	}
	return n
}

// event is what may happen to b's i-th message.
func (b *sketch) event(a act, buyer, i int) event {
	ev := makeEvent(a, buyer, b.place(i))
	if m := b.pend[i].master(); m > 0 {
		ev = ev.at(m - 1)
	}
	return ev
}

func (p trait) is(t trait) bool { return p&t != 0 }

// waits reports whether p has to arrive before time passes.
func (p trait) waits() bool { return !p.is(isCall) && !p.is(isBlocked) }

// sketch outlines a buyer.
func (w *world) sketch(b *buyer, pend []trait, needs []need) sketch {
	s := sketch{is: b.fate(), pend: pend, needs: needs, bought: uint8(w.bought(b)), of: b}
	if b.listens() || b.circling() || b.atPause() != nil {
		s.is |= isAlert
	}
	if b.token != 0 && b.token == w.shelf.token {
		s.is |= isNewest
	}
	if b.trailing() {
		s.is |= isTrailing
	}
	for i := range w.c.Masters {
		if len(b.threads[i].trail) > 0 {
			s.trails |= 1 << i
		}
	}
	if w.c.Masters > 0 && b.tries() {
		if b.attempt.alike() {
			s.is |= isCalm
		}
		if b.atPause() == nil || len(b.pend) > 1 {
			s.is |= isTrying
		} else if b.clashing() {
			s.is |= isClashing
		}
	}
	for i, p := range b.pend {
		var t trait
		switch p.kind {
		case ofCommand:
			t = isCommand
		case ofCall:
			t = isCall
		case ofPause:
			t = isPause
		case ofBegin, ofCommit:
			t = isStep
		}
		t |= trait(p.master()) << masterBits
		if b.attempt.old(p) {
			t |= isOld
		}
		if p.orphan() {
			t |= isOrphan
			if i > 0 && b.pend[i-1].orphan() && b.pend[i-1].shape == p.shape && b.pend[i-1].server == p.server {
				t |= isTwin
			}
		}
		if w.sheds() && b.couldBeVain(p) {
			s.is |= isShedding
		}
		if p.behind(b.pend) {
			t |= isBehind
		}
		if w.blocked(p) {
			t |= isBlocked
			s.is |= isAlert
		}
		s.pend, s.needs = append(s.pend, t), append(s.needs, w.needOf(b, p))
	}
	return s
}

// setting outlines what is nobody's.
func (w *world) setting() setting {
	s := setting{
		left: w.left, last: uint8(w.last), hops: int16(w.hops), outcome: w.outcome,
		units: int16(w.shelf.units), orders: int16(len(w.shelf.orders)),
		canBeSlow: w.canBeSlow(), late: w.late > 0,
		anyTTL: w.anyTTL(), hopeless: w.hopeless, vain: w.inVainForLong(), remains: w.remains(),
	}
	for i := range w.states {
		st := &w.states[i]
		s.anything[i], s.logged[i] = len(st.entries) > 0, uint8(min(2, len(st.log)))
		s.holds[i] = w.valueAt(i)
	}
	return s
}

// scene outlines the world.
func (w *world) scene() *scene {
	w.lookAgain()
	s := &w.outline
	s.setting, s.stock, s.preemptions, s.masters = w.setting(), w.c.Stock, w.c.Preemptions, w.c.Masters
	if s.buyers == nil {
		s.buyers = make([]sketch, len(w.buyers))
	}
	for i, b := range w.buyers {
		s.buyers[i] = w.sketch(b, s.buyers[i].pend[:0], s.buyers[i].needs[:0])
	}
	return s
}
