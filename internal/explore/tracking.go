package explore

import (
	"cmp"
	"slices"
	"strings"
	"testing/synctest"

	"github.com/oversell/oversell/cluster/embedded"
	"github.com/oversell/oversell/history"
)

// A server that tracks which keys a buyer has read tells it of changes without
// being asked. Such a push is an event of its own: on a real network it may come
// any time after the change, and others may do anything meanwhile. On its connection
// it comes before the reply to whatever the server executes afterwards.

// takePushes puts what a server has sent unasked before the scheduler.
func (w *world) takePushes(server int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.buyers {
		for n, c := range b.tracking() {
			if c.server != server {
				continue
			}
			for _, p := range c.sess.TakePushes() {
				b.told(c, n, p)
			}
		}
	}
}

// tracking are b's connections on which it is told of changes, in the order in
// which they were made.
func (b *buyer) tracking() []*conn {
	var cs []*conn
	for c := range b.conns {
		if c.sess.Tracks() && !c.closed && c.broken == nil {
			cs = append(cs, c)
		}
	}
	if len(cs) > 1 {
		slices.SortFunc(cs, func(x, y *conn) int { return cmp.Compare(x.nth, y.nth) })
	}
	return cs
}

// listens reports whether b may be told of what others do.
func (b *buyer) listens() bool { return b.alive() && len(b.tracking()) > 0 }

// pausesAfter reports whether a purchase pauses between two attempts once it has
// told of this.
func pausesAfter(k history.Kind, before bool) bool {
	switch k {
	case history.AcquireStart:
		return false
	case history.AcquireRefused, history.AcquireUnknown, history.Released, history.ReleaseNotHeld, history.ReleaseUnknown:
		return true
	}
	return before
}

// mayPause reports whether b may be about to come back by itself. Where buyers are
// told of changes, one that waits for nothing may wait for that.
func (b *buyer) mayPause() bool {
	if b.w.tracks() {
		return b.pausing
	}
	return !b.waits()
}

// cameBack reports whether b has come to a new command since it had so many
// arrivals. Where buyers are told of changes, it may have come to one and turned
// away from it at once, and its lock may go on with what it doesn't wait for.
func (b *buyer) cameBack(arrivals int) bool {
	return !b.alive() || b.arrivals != arrivals && !(b.pausing && b.w.tracks())
}

// told is called when a server has sent a push on b's n-th connection. Whoever has
// left hears it at once, as it makes no difference any more. Called with w.mu held.
func (b *buyer) told(c *conn, n int, what embedded.Push) {
	switch {
	case b.crashed || b.w.over:
		return
	case b.done:
		c.answer(what.Append(nil))
		return
	}
	b.startAfresh()
	b.w.seq++
	p := &pending{kind: ofPush, conn: c, server: c.server, push: what, seq: b.w.seq}
	p.shape = "push"
	for _, k := range what.Keys {
		p.shape += " " + b.wordFor(k)
	}
	if n > 0 {
		p.shape += "\n" + strings.Repeat("+", n)
	}
	p.named = p.shape
	c.unheard++
	b.fresh++
	b.pend = append(b.pend, p) // last of all, so that the others keep their places
	b.w.signal()
}

// hearRest lets b, who leaves, hear whatever is still on its way: it makes no
// difference any more whether that comes before or after. Called with w.mu held.
func (b *buyer) hearRest() {
	b.pend = slices.DeleteFunc(b.pend, func(p *pending) bool {
		if p.kind != ofPush {
			return false
		}
		p.conn.unheard--
		p.conn.answer(p.push.Append(nil))
		p.conn.heard()
		return true
	})
}

// startAfresh makes b ask anew, as it may have a reason for that which it didn't
// have before. Called with w.mu held.
func (b *buyer) startAfresh() {
	b.trail, b.circle = nil, circle{}
	for _, p := range b.pend {
		p.folded, p.onWay = false, false
	}
}

// hearPush lets b read a push.
func (w *world) hearPush(b *buyer, p *pending) {
	w.mu.Lock()
	b.remove(p)
	b.trail = nil
	arrivals := b.arrivals
	b.view = b.view.word(p.shape).number(w.now())
	p.conn.unheard--
	p.conn.answer(p.push.Append(nil))
	w.mu.Unlock()
	synctest.Wait() // else it would be a matter of chance what the buyer notices first
	w.mu.Lock()
	p.conn.heard()
	w.mu.Unlock()
	if w.keep {
		s := &w.steps[len(w.steps)-1]
		s.p, s.what = p, p.shape
	}
	w.pauseFor(b, arrivals)
}

// heard answers what has waited until everything was heard.
func (c *conn) heard() {
	if c.unheard > 0 {
		return
	}
	for _, args := range c.first {
		c.answer(c.sess.Do(nil, args))
	}
	c.first = nil
}

// behind reports whether p's connection has something for its buyer to hear first.
func (p *pending) behind(of []*pending) bool {
	return p.conn != nil && p.conn.unheard > 0 && slices.ContainsFunc(of, func(o *pending) bool {
		return o.kind == ofPush && o.conn == p.conn && (p.kind == ofCommand || o.seq < p.seq)
	})
}

// disconnect ends what the server knows of a connection, and what it has sent on
// it. Called with w.mu held.
func (c *conn) disconnect() {
	c.sess.Close()
	if c.unheard > 0 {
		c.b.pend = slices.DeleteFunc(c.b.pend, func(p *pending) bool { return p.kind == ofPush && p.conn == c })
		c.unheard = 0
		c.first = nil
	}
}

// cut breaks the connections to a server on which buyers are told of changes, as
// the end of its process does: they notice, and don't wait for what will never come.
// Of other connections it makes no difference, since clients make them again.
func (w *world) cut(server int) {
	w.mu.Lock()
	var who []*buyer
	for _, b := range w.buyers {
		for _, c := range b.tracking() {
			if c.server != server {
				continue
			}
			if c.head != nil {
				b.remove(c.head)
				c.head = nil
			}
			c.fail(errLost)
			b.startAfresh()
			b.view = b.view.word("cut").number(w.now())
			if b.alive() && !slices.Contains(who, b) {
				who = append(who, b)
			}
		}
	}
	arrivals := make([]int, len(who))
	for i, b := range who {
		arrivals[i] = b.arrivals
	}
	w.mu.Unlock()
	w.cuts = w.cuts || len(who) > 0
	for i, b := range who {
		synctest.Wait()
		w.pauseFor(b, arrivals[i])
	}
}

// tracks reports whether buyers are told of changes: the lock, or its client, has
// asked for that.
func (w *world) tracks() bool {
	return slices.ContainsFunc(w.servers, (*embedded.Simulated).Tracks)
}

// signals counts the changes of which servers may tell.
func (w *world) signals() (n uint64) {
	for _, s := range w.servers {
		n += s.Signals()
	}
	return n
}

// withTracked adds of what a buyer is to be told.
func (b *buyer) withTracked(v view) view {
	if !b.alive() {
		return v
	}
	for _, c := range b.tracking() {
		v = v.number(uint64(c.server))
		for _, k := range c.sess.Tracked() {
			if b.w.isRandom(k) {
				k = unknown(k)
			}
			v = v.word(k)
		}
	}
	return v
}

// setsUp reports whether a command passes without the scheduler.
func (p *pending) setsUp() bool { return len(p.batch) == 1 && passes(upper(p.batch[0][0])) }

// setUp executes a command that passes without the scheduler. Its reply comes
// behind what the buyer hasn't heard yet.
func (c *conn) setUp(args []string) {
	if c.unheard > 0 {
		c.first = append(c.first, args)
		return
	}
	c.answer(c.sess.Do(nil, args))
}

// hangUp breaks the connections of b on which it is told of changes, before a
// schedule begins.
func (w *world) hangUp(b *buyer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range b.tracking() {
		c.fail(errOver)
	}
}

// isOver reports whether the schedule has ended.
func (w *world) isOver() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.over
}

// hears stands in a schedule's file for the word of a command.
const hears = "push"
