package explore

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/oversell/oversell/cluster/embedded"
	"github.com/oversell/oversell/inventory"
)

// apply makes an event happen, and returns what it touched.
func (w *world) apply(ev event) footprint {
	w.lookAgain()
	f := footprint{hazard: -1}
	log := w.states[0].log
	if h := hazardOf[ev.act()]; h >= 0 {
		w.left[h]--
		f.hazard = int8(h)
		w.progress()
		w.strike()
	}
	var b *buyer
	if n := ev.buyer(); n > 0 {
		b = w.buyers[n-1]
		w.touched[n] = true
	}
	if w.keep {
		w.steps = append(w.steps, step{ev: ev})
	}
	began, now := time.Now(), w.now()
	w.touches = 0
	w.hop(ev)
	switch ev.act() {
	case deliver, loseReply, loseSend:
		p := b.pend[ev.index()]
		f.keys = p.keys
		f.global = w.dirty && usesScripts(p) // whether a server knows a script is no key's
		f.wrote = w.deliver(b, p, ev.act())
	case giveBack:
		w.giveBack(b, b.pend[ev.index()])
	case crash:
		w.crash(b)
	case delay:
		f.global = true
		b.held = true
		w.late = w.passTime(w.late)
	case pass:
		f.global = true
		if w.mayPass() == forSlowCalls && !w.slowed {
			w.slowed = true
			w.strike()
		}
		w.passUpTo(w.budgetOfTime())
	case expire:
		f.global = true
		w.expireNext()
	default:
		f.global = true
		w.befall(ev.act(), log)
	}
	f.keys |= w.touches
	f.global = f.global || w.now() != now // for everybody
	if w.keep {
		w.told(began)
	}
	return f
}

// strike counts that a hazard has struck. When no more may, what each of them
// could still do doesn't tell states apart any more.
func (w *world) strike() {
	if w.faults--; w.faults > 0 {
		return
	}
	w.left = left{}
	if !w.slowed {
		w.slow = 0
	}
	for i := range w.states {
		w.states[i].log = nil
	}
}

// told completes the newest step.
func (w *world) told(began time.Time) {
	s := &w.steps[len(w.steps)-1]
	s.took = time.Since(began)
	s.key = w.keyNow()
	s.units, s.orders = w.shelf.units, len(w.shelf.orders)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.buyers {
		s.hists = append(s.hists, b.events...)
		b.events = nil
	}
}

// hop counts a preemption: somebody goes on although the one before could.
func (w *world) hop(ev event) {
	n := ev.buyer()
	if n == 0 || n == w.last || hazardOf[ev.act()] >= 0 {
		return
	}
	if w.last > 0 && w.couldGoOn(w.last) {
		w.hops++
	}
	w.last = n
}

func (w *world) couldGoOn(n int) bool {
	b := w.buyers[n-1]
	if !b.alive() {
		return false
	}
	return slices.ContainsFunc(b.pend, func(p *pending) bool { return p.kind == ofCall || p.kind != ofCommand || !w.blocked(p) })
}

// deliver lets a pending message of b reach its server, and b come to its
// next. It reports whether something was written.
func (w *world) deliver(b *buyer, p *pending, how act) (wrote bool) {
	if b.held {
		b.held = false
	}
	if p.kind != ofCommand {
		return w.stepInventory(b, p)
	}
	w.mu.Lock()
	b.remove(p)
	arrivals := b.arrivals
	w.mu.Unlock()
	if how == loseSend {
		if w.keep {
			s := &w.steps[len(w.steps)-1]
			s.p, s.what = p, w.shapeOf(b, p)
		}
		w.saw(b, p, "lost")
		w.lose(p)
		w.settle(b, arrivals)
		return false
	}
	seen, view := w.contentOf(p), b.view
	reply, wrote := w.execute(b, p)
	if how == loseReply {
		w.saw(b, p, "reply lost")
		w.lose(p)
		w.settle(b, arrivals)
		return wrote
	}
	w.mu.Lock()
	heard := !p.conn.closed // else the buyer has given up on it
	switch {
	case !heard:
	case wrote:
		b.trail = nil
	default:
		b.trail = append(b.trail, b.foldAt(p, view, seen))
	}
	w.mu.Unlock()
	if heard {
		w.saw(b, p, w.wordsOfReply(p, reply))
	}
	w.hear(p, reply)
	w.settle(b, arrivals)
	return wrote
}

// saw adds to what b has seen, and when: many a lock counts from when it asked.
func (w *world) saw(b *buyer, p *pending, reply string) {
	b.view = b.view.word(p.shape).word(reply).number(p.sent).number(w.now())
}

// hear brings the reply to whoever waits for it.
func (w *world) hear(p *pending, reply []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !p.conn.closed && p.conn.broken == nil {
		p.conn.answer(reply)
	}
	p.conn.next()
}

// lose breaks the connection of a command.
func (w *world) lose(p *pending) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p.conn.head = nil
	p.conn.fail(errLost)
}

// execute runs the commands on the server.
func (w *world) execute(b *buyer, p *pending) (reply []byte, wrote bool) {
	st := &w.states[p.server]
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
	} else {
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
			s.p, s.what, s.reply, s.foreign = p, w.shapeOf(b, p), w.wordsOfReply(p, reply), theirs
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
	switch name := strings.ToUpper(args[0]); {
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
	if w.learn && !w.cached[text] {
		w.cached[text] = true
		w.scripts = append(w.scripts, text)
	}
}

// forgetScripts empties the servers' script caches.
func (w *world) forgetScripts() {
	w.dirty, w.forgot, w.scriptsNow = true, true, 1
	clear(w.loaded)
}

func usesScripts(p *pending) bool {
	return slices.ContainsFunc(p.batch, func(args []string) bool {
		name := strings.ToUpper(args[0])
		return isScript(name) || name == "SCRIPT"
	})
}

// unplayable names a command that can't be executed at once.
func unplayable(args []string) string {
	switch name := strings.ToUpper(args[0]); name {
	case "BLPOP", "BRPOP", "BLMOVE", "BRPOPLPUSH", "BLMPOP", "BZPOPMIN", "BZPOPMAX", "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "MONITOR", "WAIT":
		return name
	}
	return ""
}

// stepInventory does a purchase's step in the inventory.
func (w *world) stepInventory(b *buyer, p *pending) (wrote bool) {
	w.mu.Lock()
	b.remove(p)
	b.trail = nil
	delete(w.waiting, p)
	arrivals := b.arrivals
	w.mu.Unlock()
	w.progress()
	units := w.shelf.units
	err := p.step()
	says := uint64(units)
	b.token = 0
	switch {
	case errors.Is(err, inventory.ErrStaleToken):
		says = 1 << 32
	case p.kind == ofCommit:
		wrote = true
	case w.c.Kind.Fenced:
		// Which number it is says nothing: what counts is whether it is the newest.
		b.token = w.shelf.token
		wrote = true
	}
	b.view = b.view.word(p.shape).number(says).number(p.sent).number(w.now())
	if len(w.shelf.orders) > w.c.Stock {
		w.outcome |= oversold
	}
	if w.keep {
		s := &w.steps[len(w.steps)-1]
		s.p, s.what, s.reply = p, p.shape, fmt.Sprint(units)
		if err != nil {
			s.refused, s.reply = true, err.Error()
		}
	}
	p.done <- err
	w.settle(b, arrivals)
	return wrote
}

func (w *world) giveBack(b *buyer, p *pending) {
	w.mu.Lock()
	b.remove(p)
	delete(w.waiting, p)
	arrivals := b.arrivals
	w.mu.Unlock()
	b.view = b.view.word("return").number(p.sent).number(w.now())
	p.done <- nil
	w.settle(b, arrivals)
}

// crash ends a buyer's process: it sends nothing any more and hears nothing.
func (w *world) crash(b *buyer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b.crashed = true
	b.held = false
	b.pend, b.trail = nil, nil
	b.view = newView()
	for c := range b.conns {
		c.queue = nil
	}
}

// befall is what happens to servers.
func (w *world) befall(a act, log []write) {
	s, st := w.servers[0], &w.states[0]
	switch a {
	case restart:
		s.Flush()
		w.forgetScripts()
		s.Session().Do(nil, []string{"SCRIPT", "FLUSH"})
		st.log = nil
	case evict:
		for _, e := range st.entries {
			s.Delete(e.Key)
		}
	case failover1, failover2:
		w.goBack(s, st, log, int(a-failover1)+1)
	}
	w.lookAt(0)
}

// goBack makes a server what it was before its newest n writes.
func (w *world) goBack(s *embedded.Simulated, st *serverState, log []write, n int) {
	wr := log[len(log)-n]
	s.Flush()
	c := s.Session()
	passed := time.Since(wr.at)
	for _, e := range wr.before {
		if e.TTL > 0 && e.TTL <= passed {
			continue
		}
		restore(c, e)
		if e.TTL > 0 {
			s.Expire(e.Key, e.TTL-passed)
		}
	}
	st.owner = maps.Clone(wr.owner)
	if st.log = log[:len(log)-n]; w.left[hFailover] == 0 {
		st.log = nil
	}
}

func restore(c *embedded.Session, e embedded.Entry) {
	var args []string
	switch e.Type {
	case "string":
		args = append([]string{"SET", e.Key}, e.Value...)
	case "hash":
		args = append([]string{"HSET", e.Key}, e.Value...)
	case "list":
		args = append([]string{"RPUSH", e.Key}, e.Value...)
	case "set":
		args = append([]string{"SADD", e.Key}, e.Value...)
	case "zset":
		args = []string{"ZADD", e.Key}
		for _, v := range e.Value {
			i := strings.LastIndexByte(v, '=')
			args = append(args, v[i+1:], v[:i])
		}
	default:
		return
	}
	if out := c.Do(nil, args); bytes.HasPrefix(out, []byte("-")) {
		panic(fmt.Sprintf("explore: restore %s: %s", e.Key, out))
	}
}
