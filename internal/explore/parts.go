package explore

import "time"

// A state is put together from parts: one for each buyer, and one for what is
// nobody's. What an event of a buyer's does depends on its part and on nobody's.

// parts are the digests of a state's parts, for each turn of its buyers, and what
// decides which events can happen.
type parts struct {
	common   [len(turns)]view
	contents [len(turns)]contents
	buyers   [MaxBuyers][len(turns)]view
	now      uint64
	scene    *scene
	alone    bool // nothing follows for it from other states
}

// as is the state's digest with buyers exchanged.
func (p *parts) as(t turn) view {
	v, from := p.common[t], t.back()
	for n := range p.scene.buyers {
		v = v.also(p.buyers[from.of(n+1)-1][t])
	}
	return v
}

// canonical is the state's digest, how buyers are to be exchanged for it, and, of
// those exchanges of the result that leave it as it is, all but the one that
// exchanges nobody. The digest is the same whoever of the buyers has which part.
func (p *parts) canonical(turns []turn, same []turn) (key view, as turn, all []turn) {
	for i, t := range turns {
		switch v := p.as(t); {
		case i == 0 || v.less(key):
			key, as, same = v, t, same[:0]
		case v == key:
			same = append(same, as.back().then(t))
		}
	}
	return key, as, same
}

// takeApart digests the world's present state, with buyers exchanged in each of
// some turns.
func (w *world) takeApart(ts ...turn) *parts {
	p := &w.parts
	p.scene, p.now, p.alone = w.scene(), w.now(), w.anybodyWatches()
	rest := w.digestRest()
	for i, b := range w.buyers {
		own := w.digestBuyer(b)
		for _, t := range ts {
			p.buyers[i][t] = w.digestMet(own, b, t)
		}
	}
	for _, t := range ts {
		p.common[t], p.contents[t] = w.digestServers(rest, t)
	}
	return p
}

// state is the digest of everything that decides what can still happen.
func (w *world) state() view {
	key, _, _ := w.takeApart(w.turns...).canonical(w.turns, nil)
	return key
}

// stateAs is the state's digest with buyers exchanged.
func (w *world) stateAs(as turn) view { return w.takeApart(as).as(as) }

// digestRest digests time, budgets and the inventory.
func (w *world) digestRest() view {
	v := newView().number(w.now())
	v = v.number(uint64(w.shelf.units)).number(uint64(len(w.shelf.orders)))
	v = v.number(uint64(w.faults)).flag(w.slowed && w.slow > 0)
	for _, l := range w.left {
		v = v.number(uint64(l))
	}
	v = v.number(w.budgetGrain(w.slow)).number(w.budgetGrain(w.late)).number(uint64(w.outcome))
	if w.c.Preemptions >= 0 {
		v = v.number(uint64(w.hops))
	}
	return v.flag(w.dirty).flag(w.hopeless).number(w.grain(w.idle))
}

// budgetGrain is a budget of time in grains, and 0 when nothing is left of it: what is
// of no use any more is taken away.
func (w *world) budgetGrain(d time.Duration) uint64 {
	if d <= 0 {
		return 0
	}
	return 1 + w.grain(d)
}

// digestServers adds what servers hold, and who acted last where that counts, with
// buyers exchanged.
func (w *world) digestServers(rest view, as turn) (v view, is contents) {
	v = rest
	all, now, from := newView(), newView(), as.back()
	for i := range w.states {
		st, held := &w.states[from.server(i)], newView()
		v = v.number(st.scripts.digest)
		for i := range st.entries {
			e := &st.entries[i]
			d := w.entryAs(e, st.owner, as).flag(e.TTL > 0)
			held = held.plus(d)
			v = v.plus(d.number(w.grain(e.TTL)))
		}
		held = held.number(uint64(len(st.entries)))
		now = now.also(held)
		v = w.withLog(v.number(uint64(len(st.entries))), st, as)
		for _, wr := range w.lately(st) {
			for i := range wr.before {
				held = held.plus(w.entryAs(&wr.before[i], wr.owner, as))
			}
			held = held.number(uint64(len(wr.before)))
		}
		all = all.also(held)
		if i < maxTurned {
			is.of[i] = held.A
		}
	}
	if w.c.Preemptions >= 0 {
		v = v.number(uint64(as.of(w.last)))
	}
	is.all, is.now = all.A, now.A
	return v, is
}

// withLog adds what a failover would bring back.
func (w *world) withLog(v view, st *serverState, as turn) view {
	if w.left[hFailover] == 0 {
		return v
	}
	for back := 1; back <= 2 && back <= len(st.log); back++ {
		wr := &st.log[len(st.log)-back]
		v = v.number(w.grain(time.Since(wr.at)))
		for i := range wr.before {
			e := &wr.before[i]
			v = v.plus(w.entryAs(e, wr.owner, as).number(w.grain(e.TTL)))
		}
	}
	return v
}

// digestBuyer digests what is a buyer's, but for what depends on who is who.
func (w *world) digestBuyer(b *buyer) view {
	if w.hasLeft(b) {
		return newView().number(uint64(b.fate())).number(uint64(w.bought(b)))
	}
	v := newView().number(uint64(b.fate())).number(uint64(w.bought(b))).number(uint64(b.tokens)).flag(b.token != 0 && b.token == w.shelf.token)
	v = b.withWatched(b.withTracked(v))
	if w.c.Masters > 0 {
		return v.flag(b.attempt.begun).flag(b.attempt.stirred).flag(b.attempt.clash).number(uint64(b.attempt.clashes))
	}
	v = b.threads[0].digest(v).number(b.sent)
	for _, p := range b.pend {
		v = w.digestPending(v, p)
	}
	return v
}

// digest adds what b's thread is about, but for what depends on who is who.
func (t *thread) digest(v view) view {
	v = v.also(t.view)
	for _, sh := range t.circle.shapes {
		v = v.word(sh)
	}
	for _, f := range t.trail {
		v = v.word(f.shape).also(f.view).number(uint64(f.met))
	}
	return v
}

func (w *world) digestPending(v view, p *pending) view {
	if v = v.word(p.named); p.orphan() {
		return v.number(0).flag(w.blocked(p))
	}
	return v.number(1 + p.sent).flag(w.blocked(p))
}

// hasLeft reports whether it doesn't matter any more what b has seen: its purchase
// is over, and nothing of its is on its way.
func (w *world) hasLeft(b *buyer) bool { return w.forgets && b.done && len(b.pend) == 0 }

// bought is how many orders are b's.
func (w *world) bought(b *buyer) (n int) {
	for _, o := range w.shelf.orders {
		if o.Instance == b.n {
			n++
		}
	}
	return n
}

// digestMet adds what depends on who is who, with buyers exchanged.
func (w *world) digestMet(v view, b *buyer, as turn) view {
	if w.hasLeft(b) {
		return v
	}
	for _, m := range b.met {
		v = v.number(uint64(as.of(m)))
	}
	if w.c.Masters == 0 {
		return w.digestSeen(v, &b.threads[0], as)
	}
	from := as.back()
	if !w.forgets || !b.done { // else only what is left of it goes on
		for i := range b.threads {
			t := &b.threads[from.server(i)]
			v = w.digestSeen(t.digest(v), t, as)
		}
	}
	for i := range w.c.Masters + 1 {
		for _, p := range b.pend {
			if m := p.master(); m == 0 && i == w.c.Masters || m > 0 && as.server(m-1) == i {
				v = w.digestPending(v.number(uint64(i)), p).flag(b.attempt.old(p)).flag(p.won)
			}
		}
	}
	if a := &b.attempt; a.alike() || b.clashing() {
		for i := range a.found {
			v = v.number(w.contentTurned(a.found[from.server(i)], as))
		}
	}
	return v
}

// digestSeen adds what servers held when the buyer of a thread was refused, with buyers
// exchanged.
func (w *world) digestSeen(v view, t *thread, as turn) view {
	if len(t.circle.shapes) > 0 {
		v = v.number(w.contentTurned(t.circle.seen, as))
	}
	for _, f := range t.trail {
		v = v.number(w.contentTurned(f.seen, as))
	}
	return v
}
