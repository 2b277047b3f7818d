package explore

import (
	"fmt"
	"slices"

	"github.com/oversell/oversell/cluster/embedded"
)

// A command that only does something where a server holds a value which it names, as
// one that releases or renews, does nothing any more once the value is nowhere, and
// nobody is left who would set it again. When nobody waits for the reply either, it
// may as well be lost: it is taken off its way.

// shedVain takes away what does nothing any more. Called with w.mu held.
func (w *world) shedVain() {
	if !w.sheds() {
		return
	}
	for _, b := range w.buyers {
		for i := 0; i < len(b.pend); i++ {
			if p := b.pend[i]; b.couldBeVain(p) && !w.valuesAbout(b, p) {
				b.remove(p)
				i--
			}
		}
	}
}

// sheds reports whether what does nothing any more is taken away: unless something of
// the lock goes on afterwards.
func (w *world) sheds() bool { return w.forgets && !w.keepsVoid && w.memo != nil }

// couldBeVain reports whether p is of a kind that may do nothing any more: nobody waits
// for its reply, the attempt with the value that it names is over, and without that
// value on the server it does nothing.
func (b *buyer) couldBeVain(p *pending) bool {
	return p.kind == ofCommand && p.orphan() && b.isOver(p) && b.w.conditional(p) && !p.bringsScript()
}

// isOver reports whether b won't set any of its values again that p names. Where there
// is one server, that is so as soon as it has come up with a newer one.
func (b *buyer) isOver(p *pending) bool {
	switch {
	case b.done:
		return true
	case b.w.c.Masters > 0:
		return b.between(p)
	}
	return b.newest(p) < b.tokens
}

// valuesAbout reports whether the server of p holds a value of b's that p names, would
// after a failover, or may be told to set it. Of others' values that isn't known.
func (w *world) valuesAbout(b *buyer, p *pending) bool {
	st := &w.states[p.server]
	for _, v := range p.batch[0][1:] {
		t := w.tokens[v]
		if t == nil {
			continue
		}
		if t.b != b {
			return true
		}
		if hold(st.entries, v) {
			return true
		}
		for _, wr := range w.lately(st) {
			if hold(wr.before, v) {
				return true
			}
		}
		for _, o := range b.pend {
			if o != p && o.kind == ofCommand && o.server == p.server && o.names(v) && !w.conditional(o) {
				return true
			}
		}
	}
	return false
}

// noteReuse ends exploring when b sends what sets a value of an attempt before the
// present one: then what names that value may do something again. Exploring begins anew
// without taking anything off its way. Called with w.mu held.
func (b *buyer) noteReuse(p *pending) {
	w := b.w
	if !w.sheds() {
		return
	}
	isOld := func(t *token) bool { return t.n < b.tokens }
	if w.c.Masters > 0 {
		isOld = func(t *token) bool { return t.seq < b.attempt.since }
	}
	for _, args := range p.batch {
		for _, a := range args[1:] {
			if t := w.tokens[a]; t != nil && t.b == b && isOld(t) && !w.conditional(p) {
				w.failNow(errReuses)
			}
		}
	}
}

// lately are the writes that a failover may undo, where it counts for what is shed.
func (w *world) lately(st *serverState) []write {
	if !w.sheds() {
		return nil
	}
	return w.undoable(st)
}

// undoable are the writes that a failover may undo.
func (w *world) undoable(st *serverState) []write {
	if w.left[hFailover] == 0 {
		return nil
	}
	return st.log[max(0, len(st.log)-2):]
}

// conditional reports whether a command does nothing where none of the values that it
// names is held. That is tried out, on a server of its own, for commands of which what
// they do follows from which of their words, and of the values there, are the same.
func (w *world) conditional(p *pending) bool {
	if p.acts == unknownWhen && len(p.batch) == 1 {
		form := formOf(p.shape)
		if _, tried := w.conditionals[form]; !tried {
			w.conditionals[form] = w.tryConditional(p.batch[0])
		}
		p.acts = always
		if w.conditionals[form] {
			p.acts = conditionally
		}
	}
	return p.acts == conditionally
}

// bringsScript reports whether a server knows a script by p that it may not have known.
func (p *pending) bringsScript() bool { return upper(p.batch[0][0]) == "EVAL" }

// when says when a command does something.
type when uint8

const (
	unknownWhen when = iota
	always
	conditionally // where a value is held that it names
)

func (w *world) tryConditional(args []string) bool {
	if w.script(&scriptCache{}, args) == "" || !slices.ContainsFunc(args[1:], func(a string) bool { return w.tokens[a] != nil }) {
		return false
	}
	if text, ok := w.memo.texts[args[1]]; ok && upper(args[0]) == "EVALSHA" {
		args = append([]string{"EVAL", text}, args[2:]...)
	}
	var keys []string
	if keysOfCommand(args, func(key string) uint64 { keys = append(keys, key); return 1 }) == everyKey {
		return false
	}
	s, err := embedded.NewSimulated()
	if err != nil {
		panic(fmt.Sprintf("explore: %v", err))
	}
	defer s.Close()
	c := s.Session()
	const other = "another value"
	for _, make := range [][]string{nil, {"SET", "", other, "PX", "1000000"}, {"HSET", "", other, "1"}, {"SADD", "", other}, {"ZADD", "", "1", other}, {"RPUSH", "", other}} {
		s.Flush()
		for _, k := range keys {
			if make != nil {
				make[1] = k
				c.Do(nil, make)
			}
		}
		before := s.Entries(nil)
		c.Do(nil, args)
		if after := s.Entries(nil); !slices.EqualFunc(before, after, func(x, y embedded.Entry) bool { return x.Same(y) && x.TTL == y.TTL }) {
			return false
		}
	}
	return true
}

// What somebody has given up on, and would change nothing if it arrived now, is left
// where it is: that it has arrived comes to the same as that it never will.

// leavesVoid reports whether that is so. A server that tells of changes may be made to
// by a command that changes nothing.
func (w *world) leavesVoid() bool { return w.memo != nil && !w.keepsVoid && !w.tracks() }

// value is what a key holds: nothing, a value that a buyer has come up with, or
// something else.
type value uint16

const (
	nothing       value = 0
	somethingElse value = 1<<16 - 1

	numberBits = 12
	maxNumber  = 1<<numberBits - 1
)

func valueOf(buyer, number int) value { return value(buyer<<numberBits | number) }

// turned is the value that stands in for it with buyers exchanged.
func (v value) turned(as turn) value {
	if v == nothing || v == somethingElse {
		return v
	}
	return valueOf(as.of(int(v>>numberBits)), int(v&maxNumber))
}

// need is what the lock's key has to be for a command to change anything.
type need uint16

const (
	anyValue  need = 0 // it may always
	noValue   need = 1<<16 - 1
	itsNumber need = 1 << numberBits // that and more is the number of a value of its buyer's
)

// needOf is what a message needs that its buyer has given up on.
func (w *world) needOf(b *buyer, p *pending) need {
	if p.kind != ofCommand || !p.orphan() || len(p.batch) != 1 || !w.leavesVoid() || !w.aboutLock(p.batch[0]) {
		return anyValue
	}
	if setsNew(p.batch[0]) {
		return noValue
	}
	if !w.conditional(p) || p.bringsScript() {
		return anyValue
	}
	is := anyValue
	for _, a := range p.batch[0][1:] {
		if t := w.tokens[a]; t != nil {
			if t.b != b || t.n > maxNumber || is != anyValue && is != itsNumber+need(t.n) {
				return anyValue
			}
			is = itsNumber + need(t.n)
		}
	}
	return is
}

// aboutLock reports whether a command is about the lock's key and no other.
func (w *world) aboutLock(args []string) bool {
	many := 0
	bits := keysOfCommand(args, func(key string) uint64 {
		many++
		if key == w.c.key() {
			return 1
		}
		return 2
	})
	return many == 1 && bits == 1
}

// setsNew reports whether a command sets a key where there is none, and does nothing
// else.
func setsNew(args []string) bool {
	switch upper(args[0]) {
	case "SETNX":
		return true
	case "SET":
		nx := false
		for _, a := range args[min(3, len(args)):] {
			switch upper(a) {
			case "NX":
				nx = true
			case "GET":
				return false
			}
		}
		return nx
	}
	return false
}

// valueAt is what the lock's key is on a server that holds no other.
func (w *world) valueAt(server int) value {
	st := &w.states[server]
	switch {
	case len(st.entries) == 0:
		return nothing
	case len(st.entries) > 1 || st.entries[0].Key != w.c.key():
		return somethingElse
	}
	if e := &st.entries[0]; e.Type == "string" {
		if t := w.tokens[e.Value[0]]; t != nil && t.n <= maxNumber {
			return valueOf(t.b.n, t.n)
		}
	}
	return somethingElse
}

// isVoid reports whether a buyer's i-th message would change nothing if it arrived now.
func (s *scene) isVoid(at, i int) bool {
	b := &s.buyers[at]
	n := b.needs[i]
	if n == anyValue {
		return false
	}
	is := s.holds[max(0, b.pend[i].master()-1)]
	switch {
	case n == noValue:
		return is != nothing
	case is == somethingElse:
		return false
	}
	return is != valueOf(at+1, int(n-itsNumber))
}

// arriveVoid takes off its way what would change nothing if it arrived before time
// passes, of some buyers.
func (w *world) arriveVoid(of func(*buyer) bool) {
	s := w.scene()
	w.mu.Lock()
	defer w.mu.Unlock()
	for at, b := range w.buyers {
		if !of(b) {
			continue
		}
		var void []*pending
		for i, p := range b.pend {
			if s.isVoid(at, i) {
				void = append(void, p)
			}
		}
		for _, p := range void {
			b.remove(p)
		}
	}
}
