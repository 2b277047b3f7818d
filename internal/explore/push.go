package explore

import (
	"slices"
	"strings"
	"testing/synctest"

	"github.com/oversell/oversell/cluster/embedded"
)

// A server that tracks which keys a buyer has read tells it of changes without
// being asked. Such a push is an event of its own: on a real network it may come
// any time after the change, and others may do anything meanwhile. On its connection
// it comes before the reply to whatever the server executes afterwards.

// hears stands in a schedule's file for the word of a command.
const hears = "push"

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

// hearPush lets b read a push.
func (w *world) hearPush(b *buyer, p *pending) {
	w.mu.Lock()
	b.remove(p)
	t := b.threadOf(p)
	t.trail = nil
	arrivals := b.arrivals
	t.view = t.view.word(p.shape).number(w.now())
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
