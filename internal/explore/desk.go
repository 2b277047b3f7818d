package explore

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oversell/oversell/cluster/embedded"
	"github.com/oversell/oversell/wire"
)

// loseTheReply is beyond wire's own actions: the command passes and the
// connection is cut before the reply.
const loseTheReply wire.Action = -1

// message is what a buyer has sent to the real server and what is held, or a
// step of its purchase.
type message struct {
	buyer   int
	server  string // that it is on its way to, "" for a step of the purchase
	command string
	release chan wire.Action
	line    *line    // on which it is, nil for a step of the purchase
	again   bool     // its buyer was refused the same before
	whole   bool     // when the server doesn't know the script, sending it with its text belongs to the same step
	unknown bool     // the server doesn't know it
	text    *message // the script, sent again so
	done    bool
	said    string
}

// line is a buyer's connection to a real server.
type line struct {
	net.Conn
	d     *desk
	buyer int
	gone  bool     // the buyer has closed it, guarded by d.mu as what follows
	open  *message // MULTI, from when it is let go until its EXEC is answered: they are one step
}

// Close notes that the buyer waits for nothing on it any more.
func (l *line) Close() error {
	l.d.mu.Lock()
	l.gone = true
	l.d.mu.Unlock()
	l.d.signal()
	return l.Conn.Close()
}

// gone reports whether nobody waits for m any more. Called with the desk locked.
func (m *message) gone() bool { return m.line != nil && m.line.gone }

// desk is where everything that buyers send lies until it is let go. Safe for
// concurrent use.
type desk struct {
	c       Case
	mu      sync.Mutex
	wake    chan struct{}
	free    bool         // everything passes
	making  map[int]bool // what these buyers send passes: their lockers are being made
	lines   []*line      // to the wire the nth is instance n, from 1
	lying   []*message
	passing map[int64]*message // let go and not answered, by the exchange's number
	refused map[place][]string // the commands that each buyer was refused since something of it took effect
	said    map[int]string
	crashed map[int]bool
	owner   map[string]int // of the key on each server
	removed bool           // a key that was another's
	shelf   shelf
	left    map[int]bool
	buyers  sync.WaitGroup
}

// place is where a buyer talks to a server.
type place struct {
	buyer  int
	server string
}

func (m *message) place() place { return place{m.buyer, m.server} }

func newDesk(c Case) *desk {
	return &desk{
		c: c, wake: make(chan struct{}, 1), free: true, making: map[int]bool{}, passing: map[int64]*message{}, refused: map[place][]string{},
		owner: map[string]int{}, said: map[int]string{}, crashed: map[int]bool{}, left: map[int]bool{}, shelf: shelf{units: c.Stock},
	}
}

func (d *desk) signal() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

func (d *desk) sleep(ctx context.Context, t time.Duration) {
	timer := time.NewTimer(t)
	defer timer.Stop()
	select {
	case <-d.wake:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// handle is the wire's handler.
func (d *desk) handle(ctx context.Context, at wire.Point, x *wire.Exchange) wire.Action {
	if passes(x.Name) || x.Name == "SCRIPT" {
		return wire.Pass
	}
	if at == wire.OnReply {
		return d.replied(x)
	}
	d.mu.Lock()
	l := d.lines[x.Instance-1]
	switch {
	case d.free || d.making[l.buyer]:
		d.mu.Unlock()
		return wire.Pass
	case l.open != nil:
		if x.Name == "EXEC" || x.Name == "DISCARD" {
			d.passing[x.Seq], l.open = l.open, nil
		}
		d.mu.Unlock()
		return wire.Pass
	}
	m := &message{buyer: l.buyer, server: x.Server, command: x.Name, release: make(chan wire.Action, 1), line: l}
	m.again = slices.Contains(d.refused[m.place()], x.Name)
	d.lying = append(d.lying, m)
	d.mu.Unlock()
	d.signal()
	var a wire.Action
	select {
	case a = <-m.release:
	case <-ctx.Done():
		return wire.Cut
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if a == wire.Cut {
		m.done = true
		return wire.Cut
	}
	if a == loseTheReply {
		m.said = "reply lost"
	}
	if x.Name == "MULTI" {
		l.open = m
		return wire.Pass
	}
	d.passing[x.Seq] = m
	return wire.Pass
}

// replied notes an answer.
func (d *desk) replied(x *wire.Exchange) wire.Action {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := d.passing[x.Seq]
	if m == nil {
		return wire.Pass
	}
	delete(d.passing, x.Seq)
	defer d.signal()
	lost := m.said != ""
	m.done = true
	m.said = x.Name + " → " + x.Reply.Text
	d.said[m.buyer] = m.said
	d.judge(x)
	if lost {
		return wire.Cut
	}
	if m.whole && x.Reply.Err && strings.HasPrefix(x.Reply.Text, noScript) {
		m.done, m.unknown = false, true
	}
	return wire.Pass
}

// noScript is what a server says that doesn't know a script.
const noScript = "NOSCRIPT"

// judge keeps track of whose the key is.
func (d *desk) judge(x *wire.Exchange) {
	buyer := d.lines[x.Instance-1].buyer
	granted, at := x.Reply.Granted() && !onlyLooks(x.Name), place{buyer, x.Server}
	if granted {
		delete(d.refused, at)
	} else if !slices.Contains(d.refused[at], x.Name) {
		d.refused[at] = append(d.refused[at], x.Name)
	}
	switch owner := d.owner[x.Server]; {
	case x.Role == wire.Acquire && granted:
		d.owner[x.Server] = buyer
	case x.Role == wire.Release && granted:
		d.removed = d.removed || owner != 0 && owner != buyer
		d.owner[x.Server] = 0
	}
}

// onlyLooks reports whether a command takes no effect, whatever it is answered.
func onlyLooks(name string) bool {
	switch name {
	case "GET", "MGET", "EXISTS", "TTL", "PTTL", "TYPE", "STRLEN", "HGET", "HMGET", "HGETALL", "HEXISTS", "SISMEMBER", "SMEMBERS", "LRANGE", "LINDEX",
		"ZRANGE", "ZRANGEBYSCORE", "ZRANK", "ZSCORE", "ZCARD", "TIME", "WATCH", "UNWATCH":
		return true
	}
	return false
}

// take finds what a buyer has sent to a server: what it still waits for, or the first
// of what it has given up on.
func (d *desk) take(at place, command string, unheard bool) *message {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.first(func(m *message) bool { return m.place() == at && m.is(command) && m.gone() == unheard })
}

// first takes the first message for which is says true; nil when there is none. Called
// with d.mu held.
func (d *desk) first(is func(*message) bool) *message {
	i := slices.IndexFunc(d.lying, is)
	if i < 0 {
		return nil
	}
	m := d.lying[i]
	d.lying = slices.Delete(d.lying, i, i+1)
	return m
}

// is reports whether m is a command of a schedule's, which may have been sent with the
// script's text there.
func (m *message) is(command string) bool {
	return m.command == command || embedded.IsScript(m.command) && embedded.IsScript(command)
}

// answered reports whether a message has had its effect. A script that the
// server didn't know comes a second time, with its text.
func (d *desk) answered(m *message) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m.unknown && m.text == nil {
		m.text = d.first(func(o *message) bool { return o.place() == m.place() && o.command == "EVAL" })
		if m.text != nil {
			m.text.release <- wire.Pass
		}
	}
	return m.done || m.text != nil && m.text.done
}

// refuseAgain lets those go who were refused the same before, but for what is wanted
// of them.
func (d *desk) refuseAgain(wanted map[place]string) {
	d.let(func(m *message) bool { return m.again && !m.gone() && !m.is(wanted[m.place()]) })
}

// letAllGo lets go whatever lies here and is waited for.
func (d *desk) letAllGo() { d.let(func(m *message) bool { return !d.crashed[m.buyer] && !m.gone() }) }

// make notes that a buyer's locker is being made, until the returned function is called.
func (d *desk) make(buyer int) (made func()) {
	note := func(is bool) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.making[buyer] = is
	}
	note(true)
	return func() { note(false) }
}

// connect makes a line that the wire knows by a number.
func (d *desk) connect(buyer int) (l *line, number int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l = &line{d: d, buyer: buyer}
	d.lines = append(d.lines, l)
	return l, len(d.lines)
}

func (d *desk) let(which func(*message) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lying = slices.DeleteFunc(d.lying, func(m *message) bool {
		if !which(m) {
			return false
		}
		m.release <- wire.Pass
		return true
	})
}

// open lets everything pass from now on.
func (d *desk) open() {
	d.mu.Lock()
	d.free = true
	lying := d.lying
	d.lying = nil
	d.mu.Unlock()
	for _, m := range lying {
		m.release <- wire.Cut
	}
}

func (d *desk) crash(buyer int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.crashed[buyer] = true
}

func (d *desk) wait() { d.buyers.Wait() }

func (d *desk) orders() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.shelf.orders)
}

func (d *desk) units() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shelf.units
}

func (d *desk) foreign() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.removed
}

func (d *desk) anybodyWaits() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for n := 1; n <= d.c.Buyers; n++ {
		if !d.crashed[n] && !d.left[n] {
			return true
		}
	}
	return false
}

func (d *desk) lastSaid(buyer int) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.said[buyer]
}

func (d *desk) describe() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return describeMessages(d.lying)
}

// hold puts a step of a purchase on the desk, and returns when it is let go.
func (d *desk) hold(ctx context.Context, buyer int, command string) (*message, error) {
	m := &message{buyer: buyer, command: command, release: make(chan wire.Action, 1)}
	d.mu.Lock()
	if d.free {
		d.mu.Unlock()
		return m, nil
	}
	d.lying = append(d.lying, m)
	d.mu.Unlock()
	d.signal()
	select {
	case a := <-m.release:
		if a == wire.Cut {
			return m, errOver
		}
		return m, nil
	case <-ctx.Done():
		d.mu.Lock()
		defer d.mu.Unlock()
		d.lying = slices.DeleteFunc(d.lying, func(o *message) bool { return o == m })
		return m, ctx.Err()
	}
}

func (d *desk) finish(m *message, format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m.done = true
	d.said[m.buyer] = fmt.Sprintf(format, args...)
	d.signal()
}
