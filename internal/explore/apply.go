package explore

import (
	"errors"
	"fmt"
	"time"

	"github.com/oversell/oversell/inventory"
)

// apply makes an event happen, and returns what it touched.
func (w *world) apply(ev event) footprint {
	w.lookAgain()
	f := footprint{hazard: -1}
	log := w.states[ev.server()].log
	if h := hazardOf[ev.act()]; h >= 0 {
		w.left[h]--
		f.hazard = int8(h)
		w.progress()
		w.strike()
	}
	var b *buyer
	held := w.contents()
	if n := ev.buyer(); n > 0 {
		b = w.buyers[n-1]
		w.touched[n] = true
	}
	if w.keep {
		w.steps = append(w.steps, step{ev: ev})
	}
	began, now := time.Now(), w.now()
	w.touches, w.cuts, w.waited, w.did = 0, false, false, deed{}
	known, token, signals := w.scriptsKnown(), w.shelf.token, w.signals()
	w.hop(ev)
	w.disturb(ev)
	switch ev.act() {
	case deliver, loseReply, loseSend:
		p := b.message(ev)
		f.keys, f.global = p.keys, p.kind == ofPause
		f.wrote = w.deliver(b, p, ev.act())
	case giveBack:
		w.giveBack(b, b.message(ev))
	case crash:
		w.crash(b)
	case delay:
		f.global = true
		w.arriveVoid(func(o *buyer) bool { return o != b })
		b.held = true
		w.late = w.passTime(w.late)
	case pass:
		f.global = true
		if w.scene().mayPass() == forSlowCalls && !w.slowed {
			w.slowed = true
			w.strike()
		}
		budget := w.budgetOfTime()
		w.arriveVoid(func(o *buyer) bool { return !o.held })
		w.passUpTo(budget)
	case expire:
		f.global = true
		w.expireNext()
	default:
		f.global = true
		w.befall(ev, log)
	}
	if w.left[hDelay] == 0 && !w.anybodyHeld() {
		w.late = 0 // of no use any more
	}
	f.keys |= w.touches
	if w.shelf.token != token {
		f.news |= issued
	}
	if w.scriptsKnown() != known {
		f.news |= scripts
	}
	for i := range w.c.Masters {
		if w.states[i].content.A != held[i] {
			f.news |= changed << i
		}
	}
	if b != nil && f.news >= changed && b.tries() {
		f.news |= rival
	}
	if w.signals() != signals {
		f.news |= signalled
		f.wrote = true // also when a key holds the same as before
	}
	if w.cuts {
		f.news |= disconnected
	}
	w.afterwards(ev, f)
	if w.waited { // by now it is known whom it has given a reason to ask again
		w.hopeless = !w.anyTTL() && w.scene().quiet(nobody)
	}
	f.later = w.now() != now
	f.global = f.global || f.later || f.news&scripts != 0
	if w.keep {
		w.told(began)
	}
	return f
}

// strike counts that a hazard has struck. When no more may, what each of them
// could still do doesn't tell states apart any more.
func (w *world) strike() {
	if w.faults--; w.faults > 0 {
		return
	}
	w.left = left{}
	if !w.slowed {
		w.slow = 0
	}
	for i := range w.states {
		w.states[i].log = nil
	}
}

// told completes the newest step.
func (w *world) told(began time.Time) {
	s := &w.steps[len(w.steps)-1]
	s.took = time.Since(began)
	s.key = w.keyNow()
	s.units, s.orders = w.shelf.units, len(w.shelf.orders)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.buyers {
		s.hists = append(s.hists, b.events...)
		b.events = nil
	}
}

// hop counts a preemption where they are bounded: somebody goes on although the one
// before could.
func (w *world) hop(ev event) {
	n := ev.buyer()
	if w.c.Preemptions < 0 || n == 0 || n == w.last || hazardOf[ev.act()] >= 0 {
		return
	}
	if w.last > 0 && w.scene().buyers[w.last-1].couldGoOn() {
		w.hops++
	}
	w.last = n
}

// deliver lets a pending message of b reach its server, and b come to its
// next. It reports whether something was written.
func (w *world) deliver(b *buyer, p *pending, how act) (wrote bool) {
	if b.held {
		b.held = false
	}
	switch p.kind {
	case ofPush:
		w.hearPush(b, p)
		return false
	case ofPause:
		w.askAgain(b, p)
		return false
	case ofBegin, ofCommit:
		return w.stepInventory(b, p)
	}
	w.mu.Lock()
	b.remove(p)
	arrivals := b.arrivals
	if w.keep {
		w.steps[len(w.steps)-1].unheard = p.orphan()
	}
	w.mu.Unlock()
	if how == loseSend {
		if w.keep {
			s := &w.steps[len(w.steps)-1]
			s.p, s.what = p, w.shapeOf(p)
		}
		w.saw(b, p, "lost")
		w.lose(p)
		w.settle(b, arrivals)
		return false
	}
	t := b.threadOf(p)
	if !b.between(p) {
		b.finds(p.server)
	}
	seen, view := w.contentToKeep(p), t.view
	reply, wrote := w.execute(b, p)
	if how == loseReply {
		if wrote {
			t.trail = nil
		}
		w.saw(b, p, "reply lost")
		w.lose(p)
		w.settle(b, arrivals)
		return wrote
	}
	w.mu.Lock()
	heard := !p.conn.closed // else the buyer has given up on it
	switch {
	case !heard || b.between(p):
	case wrote:
		t.trail = nil
	default:
		b.noteFold(t, b.foldAt(p, view, seen))
	}
	w.mu.Unlock()
	if !heard {
		w.hear(p, reply)
		w.settle(nil, 0)
		return wrote
	}
	words := w.wordsOfReply(p, reply, b.wordFor)
	w.did.reply = newView().word(words).A
	w.saw(b, p, words)
	w.hear(p, reply)
	w.settle(b, arrivals)
	return wrote
}

// saw adds to what b has seen, and when: many a lock counts from when it asked.
func (w *world) saw(b *buyer, p *pending, reply string) {
	if b.between(p) {
		return
	}
	t := b.threadOf(p)
	if w.inOrder {
		t.view = t.view.number(uint64(p.master()))
	}
	t.view = t.view.word(p.shape).word(reply).number(p.sent).number(w.now())
}

// hear brings the reply to whoever waits for it.
func (w *world) hear(p *pending, reply []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !p.conn.closed && p.conn.broken == nil {
		p.conn.answer(reply)
	}
	p.conn.next()
}

// lose breaks the connection of a command.
func (w *world) lose(p *pending) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p.conn.head = nil
	p.conn.fail(errLost)
}

// stepInventory does a purchase's step in the inventory.
func (w *world) stepInventory(b *buyer, p *pending) (wrote bool) {
	w.mu.Lock()
	b.remove(p)
	t := b.threadOf(p)
	t.trail = nil
	delete(w.waiting, p)
	arrivals := b.arrivals
	w.mu.Unlock()
	w.progress()
	units := w.shelf.units
	err := p.step()
	says := uint64(units)
	b.token, b.inside = 0, p.kind == ofBegin && err == nil && units > 0
	switch {
	case errors.Is(err, inventory.ErrStaleToken):
		says = 1 << 32
	case p.kind == ofCommit:
		wrote = true
	case w.c.Kind.Fenced:
		// Which number it is says nothing: what counts is whether it is the newest.
		b.token = w.shelf.token
		wrote = true
	}
	t.view = t.view.word(p.shape).number(says).number(p.sent).number(w.now())
	if len(w.shelf.orders) > w.c.Stock {
		w.outcome |= oversold
	}
	if w.keep {
		s := &w.steps[len(w.steps)-1]
		s.p, s.what, s.reply = p, p.shape, fmt.Sprint(units)
		if err != nil {
			s.refused, s.reply = true, err.Error()
		}
	}
	p.done <- err
	w.settle(b, arrivals)
	return wrote
}

func (w *world) giveBack(b *buyer, p *pending) {
	w.mu.Lock()
	b.remove(p)
	delete(w.waiting, p)
	arrivals := b.arrivals
	w.mu.Unlock()
	t := b.threadOf(p)
	t.view = t.view.word("return").number(p.sent).number(w.now())
	p.done <- nil
	w.settle(b, arrivals)
}
