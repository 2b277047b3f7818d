package checks

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// doubtful is an acquire with an unknown outcome that may have held the key for
// a time.
type doubtful struct {
	by          *Purchase
	from, until time.Duration
	lost        []*history.Event // wire.unanswered; nil when the wire showed the grant, or can't tell
}

// possible finds acquires with an unknown outcome that may have held the key
// while somebody was definitely inside.
func possible(t *Timeline) *result.Finding {
	holders := t.holders()
	ends := make([]time.Duration, len(holders)) // the latest end so far
	var latest time.Duration
	for i, p := range holders {
		latest = max(latest, p.Until)
		ends[i] = latest
	}
	var found []doubtful
	for _, d := range t.doubtfuls() {
		// Of those who acquired before until, does anybody stay beyond from?
		n, _ := slices.BinarySearchFunc(holders, d.until, func(q *Purchase, at time.Duration) int { return cmp.Compare(q.From, at) })
		if n > 0 && ends[n-1] > d.from {
			found = append(found, d)
		}
	}
	if len(found) == 0 {
		return nil
	}
	first := found[0]
	f := result.Finding{Property: result.Exclusion, Verdict: result.OK}
	f.Text = fmt.Sprintf("possible, not definite: %s with an unknown outcome may have held the key while somebody was inside: first %s, from %s",
		counted(len(found), "acquire"), first.by, seconds(first.from))
	if len(first.lost) > 0 {
		f.Text += fmt.Sprintf(" (the reply of %s to its %s was lost)", first.lost[0].Server, first.lost[0].Command)
	}
	for _, d := range found[:min(len(found), maxPossible)] {
		f.Events = append(f.Events, numbers(d.by.Asked, d.by.Answer)...)
		f.Events = append(f.Events, numbers(d.lost...)...)
	}
	slices.Sort(f.Events)
	return &f
}

// maxPossible is how many possible overlaps a finding proves.
const maxPossible = 20

// doubtfuls are the acquires with an unknown outcome that may have held the
// key. When the wire saw the grant, it was held as long as that. Else it takes
// an acquiring command that was sent and never answered; in a history that
// doesn't tell of those, any time from the question to one TTL after the answer
// that never came will do.
func (t *Timeline) doubtfuls() []doubtful {
	tells := t.tellsUnanswered()
	var found []doubtful
	for _, p := range t.answered(history.AcquireUnknown) {
		switch {
		case p.Hold != nil:
			until := t.last + 1
			if g := p.Hold.Decisive(); g != nil {
				until = g.Loss.At
			}
			found = append(found, doubtful{by: p, from: p.Hold.At(), until: until})
		case !tells:
			found = append(found, doubtful{by: p, from: p.askedAt(), until: p.Answer.At + t.Plan.TTL})
		}
	}
	if tells {
		found = append(found, t.unheard()...)
	}
	slices.SortStableFunc(found, func(a, b doubtful) int { return cmp.Compare(a.from, b.from) })
	return found
}

// tellsUnanswered reports whether the history tells of commands without a reply.
func (t *Timeline) tellsUnanswered() bool {
	return t.Plan.Schema != "" && t.Plan.Schema != history.PlanSchemaV1
}

// unheard gives each attempt to acquire whose reply was lost to a purchase that
// was asking then and never learned the outcome: to the one of several that
// gave up first.
func (t *Timeline) unheard() []doubtful {
	unknown := t.answered(history.AcquireUnknown)
	taken := make(map[*Purchase]bool)
	var found []doubtful
	for _, d := range t.lostAttempts() {
		i := slices.IndexFunc(unknown, func(p *Purchase) bool {
			return p.Instance == d.lost[0].Instance && p.Hold == nil && !taken[p] && p.askedAt() <= d.from && d.from <= p.Answer.At
		})
		if i >= 0 {
			d.by = unknown[i]
			taken[d.by] = true
			found = append(found, d)
		}
	}
	return found
}

// lostAttempts are the attempts to acquire that may have been granted the key
// by enough servers, because so many of their replies were lost.
func (t *Timeline) lostAttempts() []doubtful {
	attempts := make(map[owned]*doubtful)
	var order []*doubtful
	for _, e := range t.Events {
		if e.Kind != history.WireUnanswered || e.Role != roleAcquire {
			continue
		}
		from, until, ok := t.mayBeGranted(e)
		if !ok {
			continue // somebody else had the key all the while
		}
		k := owned{e.Instance, e.Value}
		d := attempts[k]
		if d == nil || t.Plan.Shape != string(cluster.Quorum) || e.Value == "" {
			d = &doubtful{from: from}
			attempts[k] = d
			order = append(order, d)
		}
		d.from, d.until = min(d.from, from), max(d.until, until)
		d.lost = append(d.lost, e)
	}
	granted := make(map[owned]int)
	for _, h := range t.Holds {
		granted[owned{h.Instance(), h.Grants[0].Event.Value}] += len(h.Grants)
	}
	var found []doubtful
	for _, d := range order {
		servers := len(d.lost)
		if t.Plan.Shape == string(cluster.Quorum) {
			servers += granted[owned{d.lost[0].Instance, d.lost[0].Value}]
		}
		if servers >= t.majority() {
			found = append(found, *d)
		}
	}
	return found
}

// roleAcquire and roleRelease are roles of commands, as the wire tells them.
const (
	roleAcquire = "acquire"
	roleRelease = "release"
)

// sentAt is when the command of an event on the wire came from its instance.
func sentAt(e *history.Event) time.Duration { return e.At - e.Took }

// mayBeGranted bounds the time within which an acquiring command without a
// reply may have had the key; ok is false when the server can't have granted it
// at all. It was refused while somebody else had the key there, and whoever was
// granted the key later found it free: between two grants there is only room for
// it if it can have expired in between, or a blind release can have removed it.
func (t *Timeline) mayBeGranted(e *history.Event) (from, until time.Duration, ok bool) {
	free := sentAt(e) // the earliest time at which it can have been granted
	for _, g := range t.Grants {
		if g.Event.Server != e.Server || g.Event.Key != e.Key {
			continue
		}
		if at := g.Event.At; at > free {
			if free > e.At {
				return 0, 0, false
			}
			if at-free >= t.Plan.TTL || t.blindlyReleased(e, free, at) {
				return free, min(at, t.heldUntil(e)), true
			}
		}
		free = max(free, t.takenUntil(g))
	}
	return free, t.heldUntil(e), free <= e.At
}

// takenUntil is how long nobody else can have been granted a grant's key on its
// server: to the end of it, or for ever when that server died with it.
func (t *Timeline) takenUntil(g *Grant) time.Duration {
	switch {
	case !g.Ended(), g.Loss.Cause == LostWithServer:
		return t.last + 1
	case g.Loss.Cause == Expired:
		return g.Loss.At - t.Plan.TTL/10 // stamped a little late
	default:
		return g.Loss.At
	}
}

// blindlyReleased reports whether a release that doesn't compare removed the
// key of e on its server within a time.
func (t *Timeline) blindlyReleased(e *history.Event, from, until time.Duration) bool {
	return slices.ContainsFunc(t.Events, func(x *history.Event) bool {
		return x.Kind == history.WireReleased && x.Done && x.Value == "" && x.Server == e.Server && from <= x.At && x.At <= until
	})
}

// heldUntil bounds how long an acquiring command without a reply may have held
// the key: one TTL, unless its own release was answered before, or the server died.
func (t *Timeline) heldUntil(e *history.Event) time.Duration {
	until := e.At + t.Plan.TTL
	for _, x := range t.Events {
		if x.At < sentAt(e) || x.At >= until || x.Server != e.Server {
			continue
		}
		own := x.Kind == history.WireReleased && x.Instance == e.Instance && x.Value == e.Value && e.Value != ""
		died := x.Kind == history.ServerRole && x.Text == "killed" && t.Plan.Shape != string(cluster.Sentinel)
		if own || died {
			return x.At
		}
	}
	return until
}
