package wire

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Always, as Match.Times, means without end.
const Always = -1

// firedBuffer is how many exchanges Fired keeps for a reader that is late.
const firedBuffer = 64

// Match says which commands or replies a rule is for. Zero fields match all.
type Match struct {
	Instance int
	Server   string
	Command  string // upper case
	Key      string
	Role     Role
	// Point is where the rule acts. "" leaves it to the effect, see there.
	Point   Point
	Granted bool // only replies that granted; implies OnReply
	// Where is asked last, when all else fits. It must not block.
	Where func(*Exchange) bool

	Nth   int // fire from the n-th match on; 0 means from the first
	Times int // and so many times; 0 means once, Always without end
}

// Effect is what a rule does when it fires: Hold, Delay, Hook, DropRequest,
// DropReply, or one of the actions Drop, Duplicate and Cut.
type Effect interface {
	// point is where the effect acts when the match doesn't say.
	point() Point
	// apply may block until ctx ends or gate is closed.
	apply(ctx context.Context, gate <-chan struct{}, x *Exchange) Action
}

type effect struct {
	at Point
	do func(ctx context.Context, gate <-chan struct{}, x *Exchange) Action
}

func (e effect) point() Point { return e.at }

func (e effect) apply(ctx context.Context, gate <-chan struct{}, x *Exchange) Action {
	return e.do(ctx, gate, x)
}

func (a Action) point() Point { return OnCommand }

func (a Action) apply(context.Context, <-chan struct{}, *Exchange) Action { return a }

// DropRequest loses a command before it reaches the server, DropReply lets the
// server execute it and loses the reply. Both lose everything after it on its
// connection too, see Drop.
var (
	DropRequest Effect = Drop
	DropReply   Effect = effect{OnReply, func(context.Context, <-chan struct{}, *Exchange) Action { return Drop }}
)

// Hold stops a command (or, at OnReply, a reply) until the rule is released or
// removed.
func Hold() Effect {
	return effect{OnCommand, func(ctx context.Context, gate <-chan struct{}, _ *Exchange) Action {
		select {
		case <-gate:
		case <-ctx.Done():
		}
		return Pass
	}}
}

// Delay stops a command (or, at OnReply, a reply) for d, or until the rule is
// released or removed.
func Delay(d time.Duration) Effect {
	return effect{OnCommand, func(ctx context.Context, gate <-chan struct{}, _ *Exchange) Action {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-gate:
		case <-ctx.Done():
		}
		return Pass
	}}
}

// Hook runs do while the command (or, at OnReply, the reply) stands still. do
// must return when ctx ends, and must not keep the Exchange without Clone.
func Hook(do func(ctx context.Context, x *Exchange)) Effect {
	return effect{OnCommand, func(ctx context.Context, _ <-chan struct{}, x *Exchange) Action {
		do(ctx, x)
		return Pass
	}}
}

// Rules is a list of rules that can be changed while commands pass; its Handle
// is the wire's Handler. Rules are asked in the order in which they were added:
// all that match fire, one after the other, up to the first whose action isn't
// Pass. The zero value has no rules. Safe for concurrent use.
type Rules struct {
	mu   sync.Mutex
	list atomic.Pointer[[]*Rule]
}

// Rule is one rule in force. Safe for concurrent use.
type Rule struct {
	rules  *Rules
	match  Match
	effect Effect
	fired  chan Exchange

	mu      sync.Mutex
	matches int
	count   int
	removed bool
	gate    chan struct{} // closed by Release, and then replaced
}

// Add puts a rule in force, behind those that are there.
func (rs *Rules) Add(m Match, e Effect) *Rule {
	switch {
	case m.Granted:
		m.Point = OnReply
	case m.Point == "":
		m.Point = e.point()
	}
	r := &Rule{rules: rs, match: m, effect: e, fired: make(chan Exchange, firedBuffer), gate: make(chan struct{})}
	rs.change(func(list []*Rule) []*Rule { return append(list, r) })
	return r
}

// change replaces the list, which is never changed in place.
func (rs *Rules) change(f func([]*Rule) []*Rule) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	var list []*Rule
	if old := rs.list.Load(); old != nil {
		list = slices.Clone(*old)
	}
	list = f(list)
	rs.list.Store(&list)
}

// Handle is a Handler.
func (rs *Rules) Handle(ctx context.Context, p Point, x *Exchange) Action {
	list := rs.list.Load()
	if list == nil {
		return Pass
	}
	for _, r := range *list {
		if !r.match.fits(p, x) {
			continue
		}
		gate, fires := r.fire(x)
		if !fires {
			continue
		}
		if a := r.effect.apply(ctx, gate, x); a != Pass {
			return a
		}
	}
	return Pass
}

// fits compares everything but the counts.
func (m Match) fits(p Point, x *Exchange) bool {
	return m.Point == p &&
		(m.Instance == 0 || m.Instance == x.Instance) &&
		(m.Server == "" || m.Server == x.Server) &&
		(m.Command == "" || m.Command == x.Name) &&
		(m.Key == "" || m.Key == x.Key) &&
		(m.Role == Other || m.Role == x.Role) &&
		(!m.Granted || x.Reply.Granted()) &&
		(m.Where == nil || m.Where(x))
}

// fire counts a match, and reports whether the rule fires by it.
func (r *Rule) fire(x *Exchange) (gate <-chan struct{}, fires bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.removed {
		return nil, false
	}
	r.matches++
	times := r.match.Times
	if times == 0 {
		times = 1
	}
	if r.matches < r.match.Nth || times >= 0 && r.count >= times {
		return nil, false
	}
	r.count++
	select {
	case r.fired <- x.Clone():
	default:
	}
	return r.gate, true
}

// Fired delivers the exchanges by which the rule fired, before its effect. It
// never stops the wire: what nobody has received after 64 more isn't delivered.
// It is never closed.
func (r *Rule) Fired() <-chan Exchange { return r.fired }

// Count is how often the rule has fired.
func (r *Rule) Count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

// Release lets everything go on that the rule holds or delays now. What it
// meets later is held again.
func (r *Rule) Release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.removed {
		close(r.gate)
		r.gate = make(chan struct{})
	}
}

// Remove ends the rule, and lets everything go on that it holds or delays.
func (r *Rule) Remove() {
	r.rules.change(func(list []*Rule) []*Rule {
		return slices.DeleteFunc(list, func(o *Rule) bool { return o == r })
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.removed {
		r.removed = true
		close(r.gate)
	}
}
