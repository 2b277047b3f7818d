package explore

import (
	"time"

	"github.com/oversell/oversell/cluster/embedded"
)

// serverState is what is known of one server.
type serverState struct {
	entries []embedded.Entry
	owner   map[string]int // whose each key is: who made it, or changed its value last
	content view           // of entries without their expiry
	log     []write        // commands that changed something, for failover
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
	w.states = w.states[:0]
	for _, s := range w.servers {
		s.Flush()
		w.states = append(w.states, serverState{owner: map[string]int{}})
	}
	if w.dirty {
		w.loadScripts()
		w.dirty = false
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

// look reads what servers hold, after time has passed or commands were executed.
func (w *world) look() {
	for i := range w.states {
		w.lookAt(i)
	}
}

func (w *world) lookAt(i int) {
	st := &w.states[i]
	st.entries = w.servers[i].Entries(st.entries[:0])
	st.content = w.digest(st)
	if len(st.owner) > 0 {
		for k := range st.owner {
			if find(st.entries, k) == nil {
				delete(st.owner, k)
			}
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

func (w *world) digest(st *serverState) view {
	v := newView()
	for _, e := range st.entries {
		v = v.word(e.Key).word(e.Type).number(uint64(st.owner[e.Key])).flag(e.TTL > 0)
		for _, s := range e.Value {
			v = v.word(w.wordOf(nil, s))
		}
	}
	return v
}

// state is the digest of everything that decides what can still happen.
func (w *world) state() view {
	v := newView().number(w.now())
	for _, b := range w.buyers {
		v = v.also(b.view).number(uint64(b.flags()))
		for _, f := range b.trail {
			v = v.word(f.shape).also(f.view).number(f.seen)
		}
		for _, p := range b.pend {
			if v = v.word(w.shapeOf(b, p)); p.orphan() {
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
	if w.c.Kind.Fenced {
		v = v.number(uint64(w.shelf.token))
	}
	v = v.number(uint64(w.faults)).flag(w.slowed)
	for _, l := range w.left {
		v = v.number(uint64(l))
	}
	v = v.number(w.grain(w.slow)).number(w.grain(w.late)).flag(w.slow > 0).flag(w.late > 0).number(uint64(w.outcome))
	if w.c.Preemptions >= 0 {
		v = v.number(uint64(w.last)).number(uint64(w.hops))
	}
	return v.flag(w.dirty).flag(w.hopeless)
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
	return p.folded && p.seen == w.states[p.server].content.A
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
	e := find(st.entries, lockKey)
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
