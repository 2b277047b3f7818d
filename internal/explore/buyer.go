package explore

import (
	"cmp"
	"context"
	"slices"

	"github.com/oversell/oversell/cluster/embedded"
	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/locks"
)

// what a pending message is.
type what uint8

const (
	ofCommand what = iota // a command on a connection
	ofReply               // kept for the order of kinds: replies are part of their delivery
	ofBegin               // the purchase reads the stock
	ofCommit              // the purchase writes stock and order
	ofCall                // the business call has begun and may return
	ofPause               // it is about to pause and then ask again; where there are masters
	ofPush                // a server tells the buyer of a change
)

// pending is something of a buyer's that waits for the scheduler.
type pending struct {
	kind   what
	conn   *conn
	server int
	batch  [][]string // commands that are delivered together; mostly one
	push   embedded.Push

	step func() error // of ofBegin and ofCommit: does it
	done chan error   // tells the buyer that it happened
	salt uint64       // of ofPause: who pauses

	seq    int
	sent   uint64             // when, as buyer.when has it
	keys   uint64             // that it touches, as bits
	shape  string             // in words of its buyer's, which don't depend on random values
	named  string             // as shape, with the numbers of random values
	words  [len(turns)]uint64 // digests of the command, with buyers exchanged
	tokens int                // that the buyer had come up with before
	folded bool               // the buyer goes round in a circle, and asks once more ...
	seen   uint64             // ... what it was refused when the server held this
	onWay  bool               // it comes to nothing, and leads the buyer back to where it waits
	won    bool               // it is left of an attempt that got the lock
	acts   when               // it does something
}

// master is on the way to which of several masters p is, from 1; 0 for none.
func (p *pending) master() int {
	if p.conn == nil || p.conn.w.c.Masters == 0 {
		return 0
	}
	return p.server + 1
}

// lane is the master's as keyBit has it.
func (p *pending) lane() int { return p.master() - 1 }

// orphan reports whether nobody waits for the reply any more.
func (p *pending) orphan() bool { return p.conn != nil && p.conn.closed }

// buyer is one customer in an instance of its own.
type buyer struct {
	w       *world
	n       int // 1, 2, ...
	clients locks.Clients
	conns   map[*conn]struct{}
	lives   chan context.Context // one for each schedule

	// Of the current schedule, guarded by w.mu.
	pend     []*pending
	arrivals int
	fresh    int    // arrivals that weren't asked in vain
	token    int64  // that it was issued for its purchase, with a fence
	silent   int    // events of the purchase since it has sent something
	sent     uint64 // when it has sent something last
	locker   locks.Locker
	cancel   context.CancelFunc
	starting bool // its locker is being made: what that sends has no order with anything
	done     bool
	crashed  bool
	held     bool // its messages are held up
	inside   bool // it has read that there is stock, and hasn't written what it leaves
	pausing  bool // between two attempts
	left     bool // its purchase was over, and nothing of its on its way
	threads  [MaxMasters + 1]thread
	met      []int             // whose values it knows: itself, and others in the order in which it has seen them
	tokens   int               // random values of its own so far
	moments  map[string]uint64 // points in time that it has sent, in grains from the start
	attempt  attempt
	lastErr  string
	events   []history.Event // of its purchase, when wanted
}

// fold is a point to which a buyer comes back who goes round in a circle.
type fold struct {
	shape string
	view  view
	seen  uint64

	tokens int // that the buyer had come up with before
	met    int // how many it knew
	seq    int // of the command
}

// circle is what a buyer sends on its way round, behind the command at which it
// waits, while the server holds the same.
type circle struct {
	at     *pending // nil for none
	seen   uint64
	shapes []string
}

// alive reports whether the buyer can still do something.
func (b *buyer) alive() bool { return !b.done && !b.crashed }

// arrive puts p before the scheduler. Called with w.mu held.
func (b *buyer) arrive(p *pending) {
	if b.crashed {
		return
	}
	if b.left && !p.orphan() {
		b.w.goesOn()
	}
	b.arrivals++
	b.silent = 0
	b.w.seq++
	p.seq, p.keys = b.w.seq, b.w.keysOf(p)
	b.comeUp(p)
	if b.w.c.Masters > 0 { // whichever master's is the first to come up with it
		b.w.numberTokens(b, p)
	}
	p.shape = shapeOf(p, b.wordFor)
	switch p.kind {
	case ofCommand:
		p.tokens = b.tokens
		b.recognise(p)
		b.w.numberTokens(b, p)
		b.noteReuse(p)
		p.named = shapeOf(p, b.wordFor)
		b.w.digestWords(b, p)
	case ofPause:
		b.comeToPause(p)
	case ofBegin:
		p.named = p.shape
		b.attempt = attempt{begun: true, since: b.attempt.since}
	default:
		p.named = p.shape
	}
	again := b.held && b.hasGivenUp(p)
	if !p.folded && !p.onWay && !again { // else a step of time goes on
		b.fresh++
	}
	b.sent = b.when(again)
	p.sent = b.sent
	b.pend = append(b.pend, p)
	slices.SortStableFunc(b.pend, func(x, y *pending) int {
		if x.kind == ofPush && y.kind == ofPush {
			return cmp.Compare(x.seq, y.seq)
		}
		return cmp.Or(cmp.Compare(x.kind, y.kind), cmp.Compare(x.server, y.server),
			cmp.Compare(x.shape, y.shape), cmp.Compare(x.seq, y.seq))
	})
	b.w.signal()
}

// when says when b sends something: at the end of the latest step of time or, in the
// middle of one, so long after what it has sent before as its lock waits. On several
// masters, where it is a matter of chance what comes first, that is at the end of the
// step too, unless b comes again to what is held up.
func (b *buyer) when(again bool) uint64 {
	switch w := b.w; {
	case w.c.Masters == 0 && w.passing:
		return newView().number(b.sent).A
	case w.c.Masters > 0 && again:
		return w.now()
	}
	return b.w.stamp
}

// recognise finds out whether b has come back to p, having sent nothing since
// that took effect: then it is where it was before, and goes round in a circle.
func (b *buyer) recognise(p *pending) {
	content, t := b.w.contentOf(p), b.threadOf(p)
	for i := len(t.trail) - 1; i >= 0; i-- {
		f := t.trail[i]
		if f.shape != anonymous(p.shape, f.tokens) || b.leftBehindSince(f.seq) {
			continue
		}
		p.shape, p.tokens = f.shape, f.tokens
		p.folded, p.seen = f.seen == content, f.seen
		t.circle = circle{at: p, seen: f.seen}
		for _, on := range t.trail[i+1:] {
			t.circle.shapes = append(t.circle.shapes, on.shape)
			if on.seen != f.seen {
				t.circle = circle{}
				break
			}
		}
		t.view, t.trail = f.view, t.trail[:i]
		if b.w.c.Masters == 0 {
			b.tokens = max(f.tokens, b.newest(p), b.newestInUse())
		}
		if len(b.pend) == 0 && len(t.circle.shapes) == 0 { // else something may be in words of those whom it has met since
			b.met = b.met[:f.met]
		}
		return
	}
	p.onWay = t.circle.at != nil && t.circle.seen == content && slices.Contains(t.circle.shapes, p.shape)
}

// foldAt is the point at which b waits with p.
func (b *buyer) foldAt(p *pending, v view, seen uint64) fold {
	return fold{shape: p.shape, view: v, seen: seen, tokens: p.tokens, met: len(b.met), seq: p.seq}
}

// noteFold notes a point to which b may come back. On several masters, where longer
// ways round lead through a pause, that is only the latest of each.
func (b *buyer) noteFold(t *thread, f fold) {
	if b.w.c.Masters > 0 {
		t.trail = nil
	}
	t.trail = append(t.trail, f)
}

// leftBehindSince reports whether a command that was sent since is still on its
// way, though b has given up on it: then b isn't where it was before.
func (b *buyer) leftBehindSince(seq int) bool {
	return slices.ContainsFunc(b.pend, func(o *pending) bool { return o.orphan() && o.seq > seq })
}

// giveUp notes that b waits for no reply to p any more. Of several such commands
// that look the same only one may still arrive: a lock that gives each command a
// tenth of the time that the network holds it up would else leave ten of them on
// their way, to arrive in every order. It is the first; on several masters, where it
// may be a matter of chance on which of two b gives up first, the one with the newest
// value. Called with w.mu held.
func (b *buyer) giveUp(p *pending) {
	for _, o := range b.pend {
		if o == p || !o.givenUpLike(p) {
			continue
		}
		if b.w.c.Masters > 0 && p.named < o.named {
			p = o
		}
		b.remove(p)
		return
	}
}

// hasGivenUp reports whether b waits no more for a command that looks like p, and
// has come to it again: what is held up isn't let go for that.
func (b *buyer) hasGivenUp(p *pending) bool {
	return slices.ContainsFunc(b.pend, func(o *pending) bool { return o.givenUpLike(p) })
}

// givenUpLike reports whether nobody waits for p any more, and it looks like another.
func (p *pending) givenUpLike(o *pending) bool {
	return p.orphan() && p.server == o.server && formOf(p.shape) == formOf(o.shape)
}

// message is the one that an event is about, or nil.
func (b *buyer) message(ev event) *pending {
	if i := ev.position(len(b.pend), func(i int) int { return b.pend[i].master() }); i >= 0 {
		return b.pend[i]
	}
	return nil
}

// remove takes p away.
func (b *buyer) remove(p *pending) {
	if i := slices.Index(b.pend, p); i >= 0 {
		b.pend = slices.Delete(b.pend, i, i+1)
	}
}

// waits reports whether b has sent something and waits for the answer, or is in
// its call.
func (b *buyer) waits() bool {
	return slices.ContainsFunc(b.pend, func(p *pending) bool { return !p.orphan() && p.kind != ofPush })
}
