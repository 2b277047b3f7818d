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
	before := st.entries
	w.touches |= p.keys
	for _, args := range p.batch {
		if no := unplayable(args); no != "" {
			w.fail(fmt.Errorf("%s isn't explored: it uses %s, and commands that wait on the server aren't simulated", w.c.Kind.Name, no))
			return []byte("-ERR not simulated\r\n"), false
		}
		w.noteScript(args)
	}
	key := w.memoKey(p)
	if known, ok := w.recall(p, key); ok {
		reply = known
		w.owe(p.batch[0])
	} else {
		w.loadOwed()
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
	wrote = wrote || w.sameExpiry(p, before, reply)
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
func (w *world) noteScript(args []string) {
	var text string
	switch name := upper(args[0]); {
	case name == "EVAL" && len(args) > 1:
		text = args[1]
	case name == "SCRIPT" && len(args) > 2 && strings.EqualFold(args[1], "LOAD"):
		text = args[2]
	case name == "SCRIPT" && len(args) > 1 && strings.EqualFold(args[1], "FLUSH"):
		w.forgetScripts()
		return
	default:
		return
	}
	if w.cached[text] && !w.forgot || w.loaded[text] {
		return
	}
	w.dirty = true
	w.loaded[text] = true
	w.scriptsNow ^= newView().word(text).A
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
		b.trail, b.circle = nil, circle{}
		for _, p := range b.pend {
			p.folded = false
		}
	}
}

// owe notes a script that the server would know by now, had its outcome not been
// remembered.
func (w *world) owe(args []string) {
	if w.forgot && strings.EqualFold(args[0], "EVAL") {
		w.owed = append(w.owed, args[1])
	}
}

// loadOwed makes servers know those scripts, before they execute anything.
func (w *world) loadOwed() {
	for _, text := range w.owed {
		for _, s := range w.servers {
			s.Session().Do(nil, []string{"SCRIPT", "LOAD", text})
		}
	}
	w.owed = w.owed[:0]
}

// forgetScripts empties the servers' script caches.
func (w *world) forgetScripts() {
	w.dirty, w.forgot, w.scriptsNow = true, true, 1
	w.startAfresh()
	clear(w.loaded)
	w.owed = w.owed[:0]
}

// unplayable names a command that can't be executed at once.
func unplayable(args []string) string {
	switch name := upper(args[0]); name {
	case "BLPOP", "BRPOP", "BLMOVE", "BRPOPLPUSH", "BLMPOP", "BZPOPMIN", "BZPOPMAX", "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "MONITOR", "WAIT":
		return name
	}
	return ""
}
