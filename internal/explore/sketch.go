package explore

// scene is what decides which events can happen next.
type scene struct {
	setting
	buyers      []sketch
	preemptions int // at most; less than 0 for no bound
}

// setting is the part of it that is nobody's.
type setting struct {
	left          left
	last          uint8 // who acted last
	hops          int16
	outcome       outcome
	units, orders int16
	canBeSlow     bool // a call may still take longer
	late          bool // there is time left for delays
	anyTTL        bool // a key has an expiry
	anything      bool // there is a key
	logged        uint8
	hopeless      bool // time has passed, and brought nothing
	vain          bool // it has brought nothing but renewals for long
	remains       remains
}

// sketch is the part that is a buyer's.
type sketch struct {
	is     fate
	bought uint8
	pend   []trait
	of     *buyer // nil when it isn't of a world
}

// fate says how a purchase stands, as bits.
type fate uint8

const (
	isDone fate = 1 << iota
	isCrashed
	isHeldUp
	isAlert    // it is told of changes, waits for a change of what a server holds, or has the newest fencing token
	isTrailing // it knows what it was refused before
)

// fate is how b's purchase stands.
func (b *buyer) fate() (f fate) {
	for i, is := range [...]bool{b.done, b.crashed, b.held} {
		if is {
			f |= 1 << i
		}
	}
	return f
}

func (b *sketch) alive() bool { return b.is&(isDone|isCrashed) == 0 }
func (b *sketch) held() bool  { return b.is&isHeldUp != 0 }

// trait says what a pending message is, as bits.
type trait uint8

const (
	isCommand trait = 1 << iota
	isCall
	isOrphan  // nobody waits for the reply
	isBlocked // it would only go round in a circle
	isTwin    // an orphan like the one before it: it doesn't matter which comes first
	isBehind  // its buyer has to hear something else first
)

func (p trait) is(t trait) bool { return p&t != 0 }

// waits reports whether p has to arrive before time passes.
func (p trait) waits() bool { return !p.is(isCall) && !p.is(isBlocked) }

// sketch outlines a buyer.
func (w *world) sketch(b *buyer, pend []trait) sketch {
	s := sketch{is: b.fate(), pend: pend, bought: uint8(w.bought(b)), of: b}
	if b.listens() || len(b.circle.shapes) > 0 || b.token != 0 && b.token == w.shelf.token {
		s.is |= isAlert
	}
	if len(b.trail) > 0 {
		s.is |= isTrailing
	}
	for i, p := range b.pend {
		var t trait
		switch p.kind {
		case ofCommand:
			t = isCommand
		case ofCall:
			t = isCall
		}
		if p.orphan() {
			t |= isOrphan
			if i > 0 && b.pend[i-1].orphan() && b.pend[i-1].shape == p.shape {
				t |= isTwin
			}
		}
		if p.behind(b.pend) {
			t |= isBehind
		}
		if w.blocked(p) {
			t |= isBlocked
			s.is |= isAlert
		}
		s.pend = append(s.pend, t)
	}
	return s
}

// setting outlines what is nobody's.
func (w *world) setting() setting {
	st := &w.states[0]
	return setting{
		left: w.left, last: uint8(w.last), hops: int16(w.hops), outcome: w.outcome,
		units: int16(w.shelf.units), orders: int16(len(w.shelf.orders)),
		canBeSlow: w.canBeSlow(), late: w.late > 0,
		anyTTL: w.anyTTL(), anything: len(st.entries) > 0, logged: uint8(min(2, len(st.log))),
		hopeless: w.hopeless, vain: w.inVainForLong(), remains: w.remains(),
	}
}

// scene outlines the world.
func (w *world) scene() *scene {
	w.lookAgain()
	s := &w.outline
	s.setting, s.preemptions = w.setting(), w.c.Preemptions
	if s.buyers == nil {
		s.buyers = make([]sketch, len(w.buyers))
	}
	for i, b := range w.buyers {
		s.buyers[i] = w.sketch(b, s.buyers[i].pend[:0])
	}
	return s
}
