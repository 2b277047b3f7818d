package explore

import (
	"cmp"
	"slices"
	"testing/synctest"

	"github.com/oversell/oversell/cluster/embedded"
)

// Where a lock's key is on several masters, an attempt that fails has taken some of
// them and gives them back: nothing of it need be refused twice alike, as with one
// server, for the buyer to be where it was before. So buyers stop where they are about
// to pause before they ask again, which is when they draw how long. Who would ask again
// although nothing has changed goes round in a circle, and waits there.

// attempt is how a buyer's present attempt to get the lock stands.
type attempt struct {
	begun   bool               // it has got it, and the purchase begins
	stirred bool               // a hazard has struck it, or others have changed what a master held that was asked
	since   int                // seq of messages that are of this attempt begins here
	found   [MaxMasters]uint64 // what each master held when it was asked, 0 for not asked
	clash   bool               // somebody who is trying too has stirred it
	clashes int                // how many before it were
}

// maxClashes is how often buyers who try at the same time may be in each other's way in
// a row. Then one waits until nobody else is trying, which is what random pauses come to
// sooner or later.
const maxClashes = 2

// alike reports whether another attempt would come to the same as this one, unless it
// has changed something itself.
func (a *attempt) alike() bool { return !a.begun && !a.stirred }

// asks stands in a schedule's file for the word of a command.
const asks = "ask"

// Who draws pauses.
const (
	saltOfLock = 1
	saltOfShop = 2
)

// old reports whether a message was sent before the attempt began.
func (a *attempt) old(p *pending) bool { return p.seq < a.since }

// between reports whether a message is of an attempt that has failed: what becomes of
// it is of no interest to the next.
func (b *buyer) between(p *pending) bool { return b.attempt.old(p) || b.atPause() != nil }

// pause waits until the scheduler lets b ask again.
func (b *buyer) pause(salt uint64) {
	w := b.w
	w.mu.Lock()
	if w.c.Masters == 0 || w.over || b.starting || salt == saltOfLock && b.attempt.begun {
		w.mu.Unlock() // renewing has pauses too
		return
	}
	p := &pending{kind: ofPause, server: inventoryServer, salt: salt, done: make(chan error, 1)}
	w.waiting[p] = struct{}{}
	b.arrive(p)
	w.mu.Unlock()
	<-p.done
}

// atPause is the pause at which b stands, or nil.
func (b *buyer) atPause() *pending {
	if n := len(b.pend); n > 0 && b.pend[n-1].kind == ofPause {
		return b.pend[n-1]
	}
	return nil
}

// tries reports whether b tries to get the lock, or has just tried.
func (b *buyer) tries() bool { return b.alive() && !b.attempt.begun }

// comeToPause forgets what b has seen: each attempt is like the first. What it has
// sent before is on its way as long as it is.
func (b *buyer) comeToPause(p *pending) {
	p.named, p.folded = p.shape, b.attempt.alike()
	for _, left := range b.pend {
		left.won = left.won || b.attempt.begun && !b.attempt.old(left)
	}
	b.forgetAll()
	b.meetNobody()
	t := b.threadOf(p)
	t.view = t.view.word(p.shape)
}

// clashing reports whether b has been in others' way so often that it waits until nobody
// else is trying.
func (b *buyer) clashing() bool {
	a := &b.attempt
	return a.clashes >= maxClashes || a.clash && a.clashes+1 >= maxClashes
}

// findsElse reports whether nothing is left of b's attempt, and a master holds
// something else than when it was asked.
func (b *buyer) findsElse() bool {
	if len(b.pend) > 1 {
		return false
	}
	for i := range b.w.servers {
		if f := b.attempt.found[i]; f != 0 && f != b.w.contentAt(i) {
			return true
		}
	}
	return false
}

// finds notes what a master holds that b asks for the first time in its attempt.
func (b *buyer) finds(server int) {
	if a := &b.attempt; b.w.c.Masters > 0 && !a.begun && a.found[server] == 0 {
		a.found[server] = b.w.contentAt(server)
	}
}

// askAgain lets b begin another attempt.
func (w *world) askAgain(b *buyer, p *pending) {
	w.mu.Lock()
	b.remove(p)
	delete(w.waiting, p)
	a := attempt{since: w.seq + 1, clashes: b.attempt.clashes}
	if b.attempt.clash {
		a.clashes = min(maxClashes, a.clashes+1)
	}
	b.attempt = a
	b.ageValues()
	arrivals := b.arrivals
	w.mu.Unlock()
	if w.keep {
		s := &w.steps[len(w.steps)-1]
		s.p, s.what = p, asks
	}
	t := b.threadOf(p)
	t.view = t.view.number(w.now())
	p.done <- nil
	synctest.Wait()
	w.sleep(w.c.TTL/25, func() bool { return !b.alive() || b.arrivals != arrivals || w.trouble != nil })
	w.settle(b, arrivals)
}

// disturb notes whose attempt an event may make fail that it wouldn't else.
func (w *world) disturb(ev event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.buyers {
		lost := b.n == ev.buyer() && (ev.act() == loseReply || ev.act() == loseSend)
		if (ev.act().takesTime() || lost) && b.tries() && b.atPause() == nil {
			b.attempt.stirred = true
		}
	}
}

// afterwards notes what an event has meant for buyers' attempts, and who has left.
func (w *world) afterwards(ev event, f footprint) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shedVain()
	for _, b := range w.buyers {
		b.left = b.left || b.done && len(b.pend) == 0
		a, p, own := &b.attempt, b.atPause(), ev.buyer() == b.n
		if !b.alive() {
			*a = attempt{since: a.since}
			continue
		}
		if a.begun {
			continue
		}
		for i := range w.states {
			if a.alike() && !own && a.found[i] != 0 && f.news&(changed<<i) != 0 {
				a.stirred, a.clash = true, f.news&rival != 0
			}
		}
		switch {
		case p == nil:
		case b.clashing():
			p.folded = !b.findsElse()
		default:
			p.folded = p.folded && a.alike() && !b.findsElse()
		}
	}
}

// contents are digests of what servers hold, without times.
func (w *world) contents() (all [MaxMasters]uint64) {
	for i := range w.states {
		all[i] = w.states[i].content.A
	}
	return all
}

// ageValues numbers b's values anew when an attempt begins: first come those with which
// it will come up, and then those of before that servers hold or that are on their way.
// What is left of several attempts looks the same, then, as what is left of the first.
func (b *buyer) ageValues() {
	var left []*token
	for v, t := range b.w.tokens {
		if t.b == b && t.n > 0 {
			if b.w.holds(v) || b.sends(v) {
				left = append(left, t)
			} else {
				t.n = spent
			}
		}
	}
	slices.SortFunc(left, func(x, y *token) int { return cmp.Compare(y.seq, x.seq) })
	for i, t := range left {
		t.n = perAttempt + i + 1
	}
	b.tokens = 0
	for _, p := range b.pend {
		p.shape = shapeOf(p, b.wordFor)
		p.named = p.shape
		b.w.digestWords(b, p)
	}
	for i := range b.w.states {
		b.w.renameContent(i)
	}
}

// renameContent makes what buyers know of a server's content be in the words that it has
// by now.
func (w *world) renameContent(server int) {
	st := &w.states[server]
	was := st.content.A
	st.content = w.digest(st, everything, asItIs)
	is := w.contentAt(server)
	if was == is {
		return
	}
	rename := func(c *uint64) {
		if *c == was {
			*c = is
		}
	}
	for _, b := range w.buyers {
		rename(&b.attempt.found[server])
		if w.inOrder { // its one thread doesn't say which server something was about
			b.threads[0].trail, b.threads[0].circle = nil, circle{}
		}
		t := &b.threads[server]
		rename(&t.circle.seen)
		for i := range t.trail {
			rename(&t.trail[i].seen)
		}
		for _, p := range b.pend {
			if p.kind == ofCommand && p.server == server {
				rename(&p.seen)
			}
		}
	}
}

// freeNumber is the least number, of those of before the present attempt, that none of
// b's values has.
func (b *buyer) freeNumber() int {
	used := map[int]bool{}
	for _, t := range b.w.tokens {
		used[t.n] = used[t.n] || t.b == b
	}
	n := perAttempt + 1
	for used[n] {
		n++
	}
	return n
}

const (
	perAttempt = 8       // more values aren't expected in one attempt
	spent      = 1 << 20 // the number of values that nobody knows any more
)

// holds reports whether a server holds a value.
func (w *world) holds(value string) bool {
	for i := range w.states {
		if hold(w.states[i].entries, value) {
			return true
		}
	}
	return false
}

// hold reports whether any of some keys holds a value.
func hold(entries []embedded.Entry, value string) bool {
	return slices.ContainsFunc(entries, func(e embedded.Entry) bool { return slices.Contains(e.Value, value) })
}

// uses reports whether a server holds a value, or would after a failover, or whether it
// is on its way to one.
func (w *world) uses(value string) bool {
	for i := range w.states {
		for _, wr := range w.undoable(&w.states[i]) {
			if hold(wr.before, value) {
				return true
			}
		}
	}
	return w.holds(value) || slices.ContainsFunc(w.buyers, func(b *buyer) bool { return b.sends(value) })
}

// sends reports whether a value is on its way to a server.
func (b *buyer) sends(value string) bool {
	return slices.ContainsFunc(b.pend, func(p *pending) bool { return p.names(value) })
}

// names reports whether a value is an argument of a message.
func (p *pending) names(value string) bool {
	return slices.ContainsFunc(p.batch, func(args []string) bool { return slices.Contains(args, value) })
}
