package explore

import (
	"time"

	"github.com/oversell/oversell/cluster/embedded"
)

// serverState is what is known of one server.
type serverState struct {
	entries []embedded.Entry
	spare   []embedded.Entry // for the next list of entries
	owner   map[string]int   // whose each key is: who made it, or changed its value last
	content view             // of entries without their expiry
	log     []write          // commands that changed something, for failover
}

// write is a command that changed something.
type write struct {
	args   [][]string
	before []embedded.Entry // what was there before it
	at     time.Time
	owner  map[string]int
}

// coarse is the grain of time in which states are compared, and below which
// the pauses of all waiters of a schedule together stay.
func (w *world) coarse() time.Duration { return w.c.TTL / 400 }

func (w *world) grain(d time.Duration) uint64 {
	q := w.coarse()
	return uint64((d + q/2) / q)
}

func (w *world) coarseMS(ms int64) int64 {
	return int64(w.grain(time.Duration(ms) * time.Millisecond))
}

// now is the schedule's time in grains.
func (w *world) now() uint64 { return w.grain(time.Since(w.start)) }

// resetServers removes everything but the scripts that were there before.
func (w *world) resetServers() {
	if w.states == nil {
		w.states = make([]serverState, len(w.servers))
	}
	for i, s := range w.servers {
		s.Flush()
		old := &w.states[i]
		w.states[i] = serverState{entries: old.entries[:0], spare: old.spare[:0], owner: map[string]int{}}
	}
	if w.dirty {
		w.loadScripts()
		w.dirty, w.forgot, w.scriptsNow = false, false, 0
		clear(w.loaded)
	}
}

// loadScripts makes the script caches what they are at the start of a schedule.
func (w *world) loadScripts() {
	for _, s := range w.servers {
		c := s.Session()
		c.Do(nil, []string{"SCRIPT", "FLUSH"})
		for _, text := range w.scripts {
			c.Do(nil, []string{"SCRIPT", "LOAD", text})
		}
	}
}

// lookAgain reads what servers hold if time has passed since the last look.
func (w *world) lookAgain() {
	if !w.looked.Equal(time.Now()) {
		w.look()
	}
}

// look reads what servers hold, after time has passed or commands were executed.
func (w *world) look() {
	w.looked = time.Now()
	for i := range w.states {
		w.lookAt(i)
	}
}

func (w *world) lookAt(i int) {
	st := &w.states[i]
	st.entries = w.servers[i].Entries(st.entries[:0])
	w.digestAnew(i)
}

// digestAnew follows a change of a server's entries.
func (w *world) digestAnew(i int) {
	st := &w.states[i]
	st.content = w.digest(st)
	w.forget(i)
	if len(st.owner) > 0 {
		for k := range st.owner {
			if find(st.entries, k) == nil {
				delete(st.owner, k)
			}
		}
	}
}

// forget makes everybody ask anew once a server has changed, even if it should
// come to hold the same again: else what can happen would depend on who has
// asked before.
func (w *world) forget(server int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.buyers {
		for _, p := range b.pend {
			if p.folded && p.server == server && p.seen != w.contentOf(p) {
				p.folded = false
			}
		}
		if b.circle.at != nil && b.circle.at.server == server && b.circle.seen != w.contentOf(b.circle.at) {
			b.circle = circle{}
		}
	}
}

func find(entries []embedded.Entry, key string) *embedded.Entry {
	for i := range entries {
		if entries[i].Key == key {
			return &entries[i]
		}
	}
	return nil
}

// contentOf is the digest of those of a server's keys that p is about.
func (w *world) contentOf(p *pending) uint64 {
	st := &w.states[p.server]
	about := func(e embedded.Entry) bool { return keyBit(p.server, e.Key)&p.keys != 0 }
	for _, e := range st.entries {
		if !about(e) {
			return w.digestOf(st, about).A
		}
	}
	return st.content.A
}

func (w *world) digest(st *serverState) view {
	return w.digestOf(st, func(embedded.Entry) bool { return true })
}

func (w *world) digestOf(st *serverState, about func(embedded.Entry) bool) view {
	v := newView()
	for _, e := range st.entries {
		if !about(e) {
			continue
		}
		v = v.word(e.Key).word(e.Type).number(uint64(st.owner[e.Key])).flag(e.TTL > 0)
		for _, s := range e.Value {
			v = v.word(w.wordOf(nil, s))
		}
	}
	return v
}

// state is the digest of everything that decides what can still happen.
func (w *world) state() view {
	w.lookAgain()
	v := newView().number(w.now())
	for _, b := range w.buyers {
		v = v.also(b.view).number(uint64(b.flags())).number(uint64(b.tokens)).flag(b.token != 0 && b.token == w.shelf.token)
		for _, sh := range b.circle.shapes {
			v = v.word(sh).number(b.circle.seen)
		}
		for _, f := range b.trail {
			v = v.word(f.shape).also(f.view).number(f.seen)
		}
		for _, p := range b.pend {
			if v = v.word(p.named); p.orphan() {
				v = v.number(0)
				continue
			}
			v = v.number(1 + p.sent).flag(w.blocked(p))
		}
	}
	for i := range w.states {
		st := &w.states[i]
		v = v.also(w.digest(st))
		for _, e := range st.entries {
			v = v.number(w.grain(e.TTL))
		}
		v = w.withLog(v, st)
	}
	v = v.number(uint64(w.shelf.units)).number(uint64(len(w.shelf.orders)))
	v = v.number(uint64(w.faults)).flag(w.slowed && w.slow > 0)
	for _, l := range w.left {
		v = v.number(uint64(l))
	}
	v = v.number(w.budgetGrain(w.slow, w.canBeSlow())).number(w.budgetGrain(w.late, w.left[hDelay] > 0 || w.anybodyHeld())).number(uint64(w.outcome))
	if w.c.Preemptions >= 0 {
		v = v.number(uint64(w.last)).number(uint64(w.hops))
	}
	return v.flag(w.dirty).number(w.scriptsNow).flag(w.hopeless).number(w.grain(w.idle))
}

// budgetGrain is a budget of time in grains, and 0 when it is of no use any more.
func (w *world) budgetGrain(d time.Duration, ofUse bool) uint64 {
	if d <= 0 || !ofUse {
		return 0
	}
	return 1 + w.grain(d)
}

// withLog adds what a failover would bring back.
func (w *world) withLog(v view, st *serverState) view {
	if w.left[hFailover] == 0 {
		return v
	}
	for back := 1; back <= 2 && back <= len(st.log); back++ {
		wr := st.log[len(st.log)-back]
		v = v.number(w.grain(time.Since(wr.at)))
		for _, e := range wr.before {
			v = v.word(e.Key).number(uint64(wr.owner[e.Key])).number(w.grain(e.TTL))
			for _, s := range e.Value {
				v = v.word(w.wordOf(nil, s))
			}
		}
	}
	return v
}

func (b *buyer) flags() int {
	f := 0
	for i, on := range []bool{b.done, b.crashed, b.held} {
		if on {
			f |= 1 << i
		}
	}
	return f
}

// blocked reports whether delivering p would only go round in a circle: it was
// refused before, and nothing has changed on the server since.
func (w *world) blocked(p *pending) bool {
	return p.folded && p.seen == w.contentOf(p)
}

// keyNow is the lock's key as it is told.
type keyNow struct {
	There bool
	Owner int
	Value string
	TTL   time.Duration // 0 for none
}

func (w *world) keyNow() keyNow {
	st := &w.states[0]
	e := find(st.entries, w.c.key())
	if e == nil {
		if len(st.entries) == 0 {
			return keyNow{}
		}
		e = &st.entries[0]
	}
	k := keyNow{There: true, Owner: st.owner[e.Key], TTL: e.TTL}
	if len(e.Value) > 0 {
		k.Value = w.wordOf(nil, e.Value[0])
	}
	return k
}
