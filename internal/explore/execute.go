package explore

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/oversell/oversell/cluster/embedded"
)

// execute runs the commands on the server.
func (w *world) execute(b *buyer, p *pending) (reply []byte, wrote bool) {
	st := &w.states[p.server]
	w.did.commands++
	w.lookAgain() // what has expired since
	before, watched := st.entries, p.underWatch()
	writes := w.servers[p.server].ScriptWrites()
	w.touches |= p.keys
	for _, args := range p.batch {
		if no := unplayable(args); no != "" {
			w.fail(fmt.Errorf("%s isn't explored: it uses %s, and commands that wait on the server aren't simulated", w.c.Kind.Name, no))
			return []byte("-ERR not simulated\r\n"), false
		}
		w.noteScript(st, args)
		w.watched = w.watched || upper(args[0]) == "WATCH"
	}
	key := w.memoKey(p)
	if known, ok := w.recall(p, key); ok {
		reply = known
		st.scripts.owe(p.batch[0])
	} else {
		w.loadOwed(p.server)
		for _, args := range p.batch {
			reply = p.conn.sess.Do(reply, args)
		}
		w.remember(p, key, reply, before)
	}
	if w.learn {
		w.learnFrom(b, p)
	}
	logged := write{p.batch, nil, time.Now(), nil}
	if w.left[hFailover] > 0 {
		logged.before, logged.owner = slices.Clone(before), maps.Clone(st.owner)
	}
	// The two lists change places, so that before stays until the next command.
	st.entries, st.spare = w.servers[p.server].Entries(st.spare[:0]), before
	wrote, theirs := w.compare(b, p, before)
	looked := key == "" && embedded.IsScript(upper(p.batch[0][0])) && w.servers[p.server].ScriptWrites() == writes
	wrote = wrote || watched || !looked && w.sameExpiry(p, before, reply) // an EXEC ends watching
	if wrote {
		if w.left[hFailover] > 0 {
			st.log = append(slices.Clip(st.log), logged)
		}
	}
	w.digestAnew(p.server)
	if w.keep {
		s := &w.steps[len(w.steps)-1]
		if s.what == "" {
			s.p, s.what, s.reply, s.foreign = p, w.shapeOf(p), w.wordsOfReply(p, reply, w.wordOf), theirs
		}
	}
	return reply, wrote
}

// compare finds out what a command has changed, and whose key it removed.
func (w *world) compare(b *buyer, p *pending, before []embedded.Entry) (wrote bool, theirs int) {
	st := &w.states[p.server]
	for _, e := range st.entries {
		old := find(before, e.Key)
		if old == nil || !old.Same(e) {
			w.progress()
			st.owner[e.Key] = b.n
			wrote = true
		} else if w.grain(old.TTL) != w.grain(e.TTL) || (old.TTL == 0) != (e.TTL == 0) {
			wrote = true
		}
	}
	for _, e := range before {
		if find(st.entries, e.Key) != nil {
			continue
		}
		w.progress()
		wrote = true
		if o := st.owner[e.Key]; o != 0 && o != b.n {
			w.outcome |= foreign
			theirs = o
		}
		delete(st.owner, e.Key)
	}
	return wrote, theirs
}

// sameExpiry reports whether a command was answered like one that takes effect,
// and may have set an expiry to what it happened to be.
func (w *world) sameExpiry(p *pending, before []embedded.Entry, reply []byte) bool {
	if !bytes.HasPrefix(reply, []byte("+")) && (!bytes.HasPrefix(reply, []byte(":")) || bytes.HasPrefix(reply, []byte(":0")) || bytes.HasPrefix(reply, []byte(":-"))) {
		return false
	}
	for _, e := range before {
		if e.TTL == 0 {
			continue
		}
		for _, args := range p.batch {
			if w.namesTime(args, e.TTL) {
				return true
			}
		}
	}
	return false
}

// noteScript keeps track of the script cache.
func (w *world) noteScript(st *serverState, args []string) {
	var text string
	switch name := upper(args[0]); {
	case name == "EVAL" && len(args) > 1:
		text = args[1]
	case name == "SCRIPT" && len(args) > 2 && strings.EqualFold(args[1], "LOAD"):
		text = args[2]
	case name == "SCRIPT" && len(args) > 1 && strings.EqualFold(args[1], "FLUSH"):
		w.forgetScripts(st)
		return
	default:
		return
	}
	if w.cached[text] && !st.scripts.forgot || st.scripts.loaded[text] {
		return
	}
	w.dirty = true
	st.scripts.load(text)
	w.startAfresh()
	if w.learn && !w.cached[text] {
		w.cached[text] = true
		w.scripts = append(w.scripts, text)
	}
}

// startAfresh makes everybody ask anew, as which scripts the server knows is
// something else now: what they were refused before says nothing any more.
func (w *world) startAfresh() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.buyers {
		b.startAfresh()
	}
}

// scriptCache is what has become of a server's scripts since the start.
type scriptCache struct {
	forgot bool            // it has been emptied
	loaded map[string]bool // scripts loaded since
	owed   []string        // of those, the ones that the server was spared
	digest uint64          // of what it holds
}

func (c *scriptCache) load(text string) {
	if c.loaded == nil {
		c.loaded = map[string]bool{}
	}
	c.loaded[text] = true
	c.digest ^= newView().word(text).A
}

// owe notes a script that the server would know by now, had its outcome not been
// remembered.
func (c *scriptCache) owe(args []string) {
	if c.forgot && strings.EqualFold(args[0], "EVAL") {
		c.owed = append(c.owed, args[1])
	}
}

// loadOwed makes a server know those scripts, before it executes anything.
func (w *world) loadOwed(server int) {
	c := &w.states[server].scripts
	for _, text := range c.owed {
		w.servers[server].Session().Do(nil, []string{"SCRIPT", "LOAD", text})
	}
	c.owed = c.owed[:0]
}

// forgetScripts empties a server's script cache.
func (w *world) forgetScripts(st *serverState) {
	w.dirty = true
	st.scripts = scriptCache{forgot: true, digest: 1}
	w.startAfresh()
}

// scriptsKnown is a digest of the scripts that servers know.
func (w *world) scriptsKnown() uint64 {
	v := newView()
	for i := range w.states {
		v = v.number(w.states[i].scripts.digest)
	}
	return v.A
}

// unplayable names a command that can't be executed at once.
func unplayable(args []string) string {
	switch name := upper(args[0]); name {
	case "BLPOP", "BRPOP", "BLMOVE", "BRPOPLPUSH", "BLMPOP", "BZPOPMIN", "BZPOPMAX", "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "MONITOR", "WAIT":
		return name
	}
	return ""
}
