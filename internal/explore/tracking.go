package explore

import (
	"cmp"
	"slices"
	"testing/synctest"

	"github.com/oversell/oversell/cluster/embedded"
)

// Buyers may have a server remember which keys they read, and tell them of changes.
// What it remembers is part of a state, and what it tells them are events.

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
	if !b.w.tracks() {
		return nil
	}
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

// attached are b's connections with which a server connects more than commands: it tells
// of changes on them, or watches keys for them.
func (b *buyer) attached() []*conn {
	cs := b.tracking()
	for _, c := range b.watches() {
		if !c.closed && c.broken == nil && !slices.Contains(cs, c) {
			cs = append(cs, c)
		}
	}
	slices.SortFunc(cs, func(x, y *conn) int { return cmp.Compare(x.nth, y.nth) })
	return cs
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

// cut breaks the connections to a server on which buyers are told of changes or watch
// keys, as the end of its process does: they notice, and don't wait for what will never
// come, nor is anything watched any more. Of other connections it makes no difference,
// since clients make them again.
func (w *world) cut(server int) {
	w.mu.Lock()
	var who []*buyer
	for _, b := range w.buyers {
		for _, c := range b.attached() {
			if c.server != server {
				continue
			}
			if c.head != nil {
				b.remove(c.head)
				c.head = nil
			}
			c.fail(errLost)
			b.startAfresh()
			t := &b.threads[server]
			t.view = t.view.word("cut").number(w.now())
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
