package embedded

import (
	"bufio"
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
)

// tracker is what a simulated server remembers for client-side caching: who is to
// be told when which key changes (CLIENT TRACKING). A key that a session has read
// is remembered until its next change, of which the session is told once. Commands
// inside of scripts count as their caller's.
type tracker struct {
	s        *Simulated
	used     bool // a session has tracked keys: until then nothing is watched
	sessions map[*Session]struct{}
	readers  map[string]map[*Session]struct{}
	held     map[string]Entry // what the keys in readers held at the last look; those that don't exist are missing
	signals  uint64

	// All below is of the command that is being executed.
	by      *Session        // whose it is
	script  bool            // reads of the commands in it count
	through bool            // a script's command is on its way to the server
	settled map[string]bool // keys of which it is known what it has done to them
}

// tracking is what a session has asked for.
type tracking struct {
	on, optIn, optOut, bcast, noLoop bool

	prefixes []string   // of the keys that bcast is about, in order
	caching  bool       // CLIENT CACHING stands before the next command
	queued   [][]string // commands of a transaction
	changed  []string   // keys of which it is to be told together, as bcast says
	pushes   []Push
}

func newTracker(s *Simulated) *tracker {
	return &tracker{
		s: s, sessions: map[*Session]struct{}{}, readers: map[string]map[*Session]struct{}{},
		held: map[string]Entry{}, settled: map[string]bool{},
	}
}

// Tracks reports whether the session is told of changes.
func (c *Session) Tracks() bool { return c.track.on }

// Tracks reports whether a session has ever tracked keys.
func (s *Simulated) Tracks() bool { return s.tracker.used }

// Tracked lists the keys of whose next change the session is told.
func (c *Session) Tracked() []string {
	var keys []string
	if c.track.on && !c.track.bcast {
		for k, readers := range c.s.tracker.readers {
			if _, ok := readers[c]; ok {
				keys = append(keys, k)
			}
		}
		slices.Sort(keys)
	}
	return keys
}

// Close ends the session: the server forgets it.
func (c *Session) Close() { c.s.tracker.off(c) }

// Signals counts the changes of keys that the server has noticed since a session
// began to track keys, whether or not anybody was told of them.
func (s *Simulated) Signals() uint64 { return s.tracker.signals }

func (t *tracker) off(c *Session) {
	delete(t.sessions, c)
	for k, readers := range t.readers {
		delete(readers, c)
		if len(readers) == 0 {
			t.forget(k)
		}
	}
	c.track = tracking{queued: c.track.queued}
}

func (t *tracker) forget(key string) {
	delete(t.readers, key)
	delete(t.held, key)
}

// remember notes that the present session has read a key.
func (t *tracker) remember(key string) {
	c := t.by
	if c == nil || !c.track.on || c.track.bcast || c.track.optIn && !c.track.caching || c.track.optOut && c.track.caching {
		return
	}
	if t.readers[key] == nil {
		t.readers[key] = map[*Session]struct{}{}
		t.settled[key] = true // what it holds isn't known yet
	}
	t.readers[key][c] = struct{}{}
}

// signal notes that a key has changed, and tells who is to be told. A session with
// NOLOOP isn't told of its own changes, but the server forgets that it has read the
// key all the same.
func (t *tracker) signal(key string) {
	t.signals++
	t.settled[key] = true
	for c := range t.sessions {
		switch _, reads := t.readers[key][c]; {
		case c.track.noLoop && c == t.by:
		case c.track.bcast && c.track.concerns(key) && !slices.Contains(c.track.changed, key):
			c.track.changed = append(c.track.changed, key)
		case reads:
			c.push(Push{Keys: []string{key}})
		}
	}
	t.forget(key)
}

func (k *tracking) concerns(key string) bool {
	return slices.ContainsFunc(k.prefixes, func(p string) bool { return strings.HasPrefix(key, p) })
}

// flushed tells everybody that all keys are gone.
func (t *tracker) flushed() {
	if !t.used {
		return
	}
	t.signals++
	for c := range t.sessions {
		c.push(Push{})
	}
	clear(t.readers)
	clear(t.held)
}

// look notices what keys have become since the last look: expired, evicted, or
// changed in a way of which the replies said nothing.
func (t *tracker) look() {
	if !t.used {
		return
	}
	db := t.s.mini.DB(0)
	for _, k := range slices.Sorted(maps.Keys(t.readers)) {
		was, had := t.held[k]
		is := Entry{}
		there := db.Exists(k)
		if there {
			is = t.s.entry(db, k)
		}
		if !t.settled[k] && (had != there || !was.Same(is)) {
			t.signal(k)
			continue
		}
		if delete(t.held, k); there {
			t.held[k] = is
		}
	}
	t.together()
}

// together sends what is told of several keys at once: for each prefix those that
// begin with it. A server keeps both in order.
func (t *tracker) together() {
	for c := range t.sessions {
		slices.Sort(c.track.changed)
		for _, p := range c.track.prefixes {
			keys := slices.DeleteFunc(slices.Clone(c.track.changed), func(k string) bool { return !strings.HasPrefix(k, p) })
			if len(keys) > 0 {
				c.push(Push{Keys: keys})
			}
		}
		c.track.changed = nil
	}
}

// begin is called before a session's command is executed, end afterwards.
func (t *tracker) begin(c *Session, args []string) {
	if !t.used {
		return
	}
	t.look()
	clear(t.settled)
	t.by = c
	name := strings.ToUpper(args[0])
	t.script = IsScript(name) || name == "EXEC"
}

func (t *tracker) end(args []string, reply []byte) {
	c := t.by
	if !t.used || c == nil {
		return
	}
	name := strings.ToUpper(args[0])
	switch {
	case name == "EXEC":
		for i, r := range elements(reply) {
			if i < len(c.track.queued) {
				t.executed(c.track.queued[i], r)
			}
		}
		c.track.queued = nil
	case name == "MULTI", name == "DISCARD":
		c.track.queued = nil
	case string(reply) == "+QUEUED\r\n":
		c.track.queued = append(c.track.queued, args)
	default:
		t.executed(args, reply)
	}
	if name != "CLIENT" && !nested(c.peer) {
		c.track.caching = false
	}
	t.look()
	t.by = nil
	clear(t.settled)
}

// executed notes what a command has read or changed.
func (t *tracker) executed(args []string, reply []byte) {
	name := strings.ToUpper(args[0])
	switch {
	case bytes.HasPrefix(reply, []byte("-")), IsScript(name): // a script's commands come one by one
	case name == "FLUSHALL" || name == "FLUSHDB":
		t.flushed()
	case t.s.srv.IsReadOnlyCommand(name):
		for _, k := range keysOf(name, args[1:]) {
			t.remember(k)
		}
	case changes(name, args[1:], reply):
		for _, k := range keysOf(name, args[1:]) {
			if ofSome[name] && t.lacks(k) {
				continue
			}
			t.signal(k)
		}
	}
}

// lacks reports whether a key that somebody has read didn't exist before the
// present command.
func (t *tracker) lacks(key string) bool {
	_, held := t.held[key]
	return t.readers[key] != nil && !held && !t.settled[key]
}

// hook is what the server calls before every command, those of scripts included,
// of which it would say nothing else.
func (t *tracker) hook(next server.Hook) server.Hook {
	return func(p *server.Peer, name string, args ...string) bool {
		if !t.used || t.through || t.by == nil || p == t.by.peer || !nested(p) {
			return next(p, name, args...)
		}
		var out bytes.Buffer
		side := server.NewPeer(bufio.NewWriter(&out))
		side.Resp3, side.Ctx = p.Resp3, p.Ctx
		command := append([]string{name}, args...)
		t.through = true
		t.s.srv.Dispatch(side, command)
		t.through = false
		side.Flush()
		if t.script || !t.s.srv.IsReadOnlyCommand(name) {
			t.executed(command, out.Bytes())
		}
		p.WriteRaw(out.String())
		return true
	}
}
