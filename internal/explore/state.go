package explore

import (
	"strings"
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
	scripts scriptCache
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
	st.content = w.digest(st, everything, asItIs)
	w.forget(i)
	w.takePushes(i)
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
			if p.folded && p.kind == ofCommand && p.server == server && p.seen != w.contentOf(p) {
				p.folded = false
			}
		}
		for i := range b.threads {
			if c := &b.threads[i].circle; c.at != nil && c.at.server == server && c.seen != w.contentOf(c.at) {
				*c = circle{}
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

// contentOf is the digest of those of a server's keys that p is about.
func (w *world) contentOf(p *pending) uint64 {
	st := &w.states[p.server]
	for i := range st.entries {
		if !p.about(&st.entries[i]) {
			return w.contentAs(p, asItIs)
		}
	}
	return st.content.A
}

// about reports whether a command may have to do with an entry.
func (p *pending) about(e *embedded.Entry) bool { return keyBit(p.lane(), e.Key)&p.keys != 0 }

func (w *world) contentAs(p *pending, as turn) uint64 {
	return w.digest(&w.states[p.server], p.about, as).A
}

// contentToKeep is contentOf, for whoever is reminded of it by a state.
func (w *world) contentToKeep(p *pending) uint64 {
	return w.keepTurned(w.contentOf(p), func(t turn) uint64 { return w.contentAs(p, t) })
}

// contentAt is a digest of all that a server holds, for whoever is reminded of it.
func (w *world) contentAt(server int) uint64 {
	st := &w.states[server]
	return w.keepTurned(st.content.A, func(t turn) uint64 { return w.digest(st, everything, t).A })
}

// keepTurned keeps what a content is with buyers exchanged, and returns it as it is.
func (w *world) keepTurned(c uint64, as func(turn) uint64) uint64 {
	if len(w.turns) > 1 && w.turned[c] == nil {
		all := new([len(turns)]uint64)
		for _, t := range w.turns {
			all[t] = as(t)
		}
		w.turned[c] = all
	}
	return c
}

// contentTurned is what keepTurned has kept, with buyers exchanged.
func (w *world) contentTurned(c uint64, as turn) uint64 {
	if as == asItIs {
		return c
	}
	if all := w.turned[c]; all != nil {
		return all[as]
	}
	return c
}

func everything(*embedded.Entry) bool { return true }

// digest is one of a server's entries, without their expiry, with buyers
// exchanged. The order of what has none doesn't count.
func (w *world) digest(st *serverState, about func(*embedded.Entry) bool, as turn) view {
	v := newView()
	for i := range st.entries {
		if e := &st.entries[i]; about(e) {
			v = v.plus(w.entryAs(e, st.owner, as).flag(e.TTL > 0))
		}
	}
	return v
}

func (w *world) entryAs(e *embedded.Entry, owner map[string]int, as turn) view {
	v := w.addWord(newView(), e.Key, as).word(e.Type).number(uint64(as.of(owner[e.Key])))
	switch e.Type {
	case "set", "zset":
		for _, s := range e.Value {
			member, score := s, ""
			if i := strings.LastIndexByte(s, '='); e.Type == "zset" && i >= 0 {
				member, score = s[:i], w.inWords(s[i+1:])
			}
			v = v.plus(w.addWord(newView(), member, as).word(score))
		}
	case "hash":
		for i := 0; i+1 < len(e.Value); i += 2 {
			v = v.plus(w.addWord(w.addWord(newView(), e.Value[i], as), e.Value[i+1], as))
		}
	default:
		for _, s := range e.Value {
			v = w.addWord(v, s, as)
		}
	}
	return v
}

// blocked reports whether delivering p would only go round in a circle: it was
// refused before, and nothing has changed on the server since.
func (w *world) blocked(p *pending) bool {
	return p.folded && (p.kind == ofPause || p.seen == w.contentOf(p))
}

// keyNow is the lock's key as it is told. Of several masters it is there when a
// majority of them has it for the same owner.
type keyNow struct {
	There  bool
	Owner  int
	Value  string
	TTL    time.Duration // 0 for none
	Owners []int         // of each of several masters, 0 for nobody
}

func (w *world) keyNow() keyNow {
	if w.c.Masters == 0 {
		return w.keyAt(0)
	}
	var k keyNow
	many := map[int]int{}
	for i := range w.states {
		at := w.keyAt(i)
		k.Owners = append(k.Owners, at.Owner)
		if many[at.Owner]++; at.There && at.Owner > 0 && many[at.Owner] > w.c.Masters/2 {
			k.There, k.Owner, k.Value, k.TTL = true, at.Owner, at.Value, at.TTL
		}
	}
	return k
}

func (w *world) keyAt(server int) keyNow {
	st := &w.states[server]
	e := find(st.entries, w.c.key())
	if e == nil {
		if len(st.entries) == 0 {
			return keyNow{}
		}
		e = &st.entries[0]
	}
	k := keyNow{There: true, Owner: st.owner[e.Key], TTL: e.TTL}
	if len(e.Value) > 0 {
		k.Value = w.wordOf(e.Value[0])
	}
	return k
}
