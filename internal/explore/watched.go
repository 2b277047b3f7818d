package explore

// A buyer that watches keys (WATCH) has the server remember whether they change: what
// its transaction comes to hangs on that, and not on what the keys hold by then. So it
// is part of a state, of which nothing follows from others.

// watches are the connections on which b watches keys, those included that it has closed
// while a command was on its way.
func (b *buyer) watches() []*conn {
	if !b.w.watched {
		return nil
	}
	var cs []*conn
	for c := range b.conns {
		if len(c.sess.Watches()) > 0 {
			cs = append(cs, c)
		}
	}
	for _, p := range b.pend {
		if p.orphan() && len(p.conn.sess.Watches()) > 0 {
			cs = append(cs, p.conn)
		}
	}
	return cs
}

// withWatched adds them, with what has changed.
func (b *buyer) withWatched(v view) view {
	for _, c := range b.watches() {
		is := newView().number(uint64(c.server)).flag(c.closed)
		for _, k := range c.sess.Watches() {
			is = is.word(b.wordFor(k.Key)).flag(k.Changed)
		}
		v = v.plus(is)
	}
	return v
}

// anybodyWatches reports whether something of that is known to a server.
func (w *world) anybodyWatches() bool {
	for _, b := range w.buyers {
		if len(b.watches()) > 0 {
			return true
		}
	}
	return false
}

// underWatch reports whether p is a transaction that hangs on more than what it names.
func (p *pending) underWatch() bool { return len(p.batch) > 1 && len(p.conn.sess.Watches()) > 0 }

// unwatch ends what a connection has left from the schedule before.
func (b *buyer) unwatch() {
	for _, c := range b.watches() {
		c.sess.Do(nil, []string{"UNWATCH"})
	}
}
