package checks

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// progress finds times in which somebody could have bought and nobody did.
//
// Two bounds apply. The plan's StallAfter bounds every gap between two
// acquisitions, after what a planned fault explains is taken off it: the time
// in which a killed server had no successor yet, or in which a fault kept a
// purchase in its call, the rest of a dead holder's TTL, and the time in which
// this machine itself stood still. And whoever dies
// while holding the key keeps it locked for one TTL at most, since a live
// holder can't have set a longer one; the shop must go on by then, plus half a
// TTL (and two pauses between attempts, when that is longer) for the next
// buyer to notice. A key that was gone before its holder died explains
// nothing, and doesn't have to.
func progress() Check {
	return Check{
		Name:     "progress",
		Summary:  "whoever can buy gets to buy, also after a holder has died",
		Property: result.Progress,
		Judge:    judgeProgress,
	}
}

func judgeProgress(h history.History) []result.Finding { return Reconstruct(h).stalls() }

// stalls judges progress.
func (t *Timeline) stalls() []result.Finding {
	if s := t.stall(); s != nil {
		return []result.Finding{s.finding(t)}
	}
	var fs []result.Finding
	for _, l := range t.lateAfterDeath() {
		fs = append(fs, l.finding(t))
	}
	return fs
}

// stalledPhase is the phase of a load.ended that the engine gave up on.
const stalledPhase = "stalled"

// stall is the worst gap of a run that came to a standstill.
type stall struct {
	gap
	ended *history.Event // the engine gave up, nil when it went on
}

// stall returns the gap that broke the bound, or nil.
func (t *Timeline) stall() *stall {
	gaps := t.gaps(slices.Concat(t.outages(), t.standstills(), t.played(), t.inherited()))
	if e := t.LoadEnded; e != nil && e.Phase == stalledPhase && t.Left() > 0 {
		return &stall{gap: gaps[len(gaps)-1], ended: e}
	}
	longest := slices.MaxFunc(gaps, func(a, b gap) int { return cmp.Compare(a.Possible, b.Possible) })
	if t.Plan.StallAfter <= 0 || longest.Possible <= t.Plan.StallAfter {
		return nil
	}
	return &stall{gap: longest}
}

func (s *stall) finding(t *Timeline) result.Finding {
	text := fmt.Sprintf("nobody acquired for %s from %s on, although stock was left and somebody wanted it (the bound is %s)",
		span(s.Possible), seconds(s.From), span(t.Plan.StallAfter))
	if s.ended != nil {
		text = fmt.Sprintf("nobody acquired any more from %s on, with %s left, until the load was given up at %s",
			seconds(s.From), counted(t.Left(), "unit"), seconds(s.ended.At))
	}
	key := t.keyAfter(s.From)
	if words := t.keyWords(key); words != "" {
		text += ": " + words
	}
	events := numbers(s.Before, s.After, s.ended, key)
	for _, e := range t.deathsOfHolders() {
		if e.At >= s.From && e.At <= s.Until {
			events = append(events, e.N)
		}
	}
	slices.Sort(events)
	return result.Finding{Property: result.Progress, Verdict: result.Stalled, Text: text, Events: slices.Compact(events)}
}

// outages are the times in which a killed server had no successor: until a
// replica is promoted, or the server itself has another role again. A death
// that nothing of the kind follows excuses nothing.
func (t *Timeline) outages() []interval {
	var found []interval
	open := make(map[string]time.Duration)
	for _, e := range t.Events {
		if e.Kind != history.ServerRole {
			continue
		}
		if e.Text == "killed" {
			if _, down := open[e.Server]; !down {
				open[e.Server] = e.At
			}
			continue
		}
		for server, from := range open {
			if e.Text == "promoted" || e.Server == server {
				found = append(found, interval{from, e.At})
				delete(open, server)
			}
		}
	}
	return found
}

// standstills are the times in which this machine ran nothing.
func (t *Timeline) standstills() []interval {
	var found []interval
	for _, e := range t.Events {
		if e.Kind == history.MachineStalled && e.Took > 0 {
			found = append(found, interval{e.At - e.Took, e.At})
		}
	}
	return found
}

// played are the times in which a fault kept a purchase in its call. A fault is
// stamped when its act is over; whether the holder still had its key in the
// meantime, and whether it knew, is for the other checks to say.
func (t *Timeline) played() []interval {
	var found []interval
	for _, f := range t.Faults {
		if p := t.byID[f.Purchase]; p != nil && p.CallStart != nil {
			found = append(found, interval{p.CallStart.At, f.At})
		}
	}
	return found
}

// inherited are the times in which a dead holder's key was still living out
// its TTL.
func (t *Timeline) inherited() []interval {
	var found []interval
	for _, g := range t.Grants {
		death := t.Death(g.Instance())
		if death != nil && g.Expires && g.HeldAt(death.At) {
			found = append(found, interval{death.At, min(g.Expiry, death.At+t.Plan.TTL)})
		}
	}
	return found
}

// deathsOfHolders are the deaths of instances that held the key just then, in
// order of time.
func (t *Timeline) deathsOfHolders() []*history.Event {
	var found []*history.Event
	for _, g := range t.Grants {
		if death := t.Death(g.Instance()); death != nil && g.HeldAt(death.At) {
			found = append(found, death)
		}
	}
	slices.SortFunc(found, func(a, b *history.Event) int { return cmp.Compare(a.N, b.N) })
	return slices.Compact(found)
}

// late is a shop that took too long to go on after a holder's death.
type late struct {
	gap
	death *history.Event
	bound time.Duration
}

// lateAfterDeath lists the deaths of holders after which the next acquisition
// came too late.
func (t *Timeline) lateAfterDeath() []late {
	deaths := t.deathsOfHolders()
	if len(deaths) == 0 {
		return nil
	}
	bound := t.Plan.TTL + max(t.Plan.TTL/2, 2*t.Plan.RetryEvery)
	var found []late
	for _, g := range t.gaps(slices.Concat(t.outages(), t.standstills(), t.played()), deaths...) {
		if g.Before != nil && g.Before.Kind == history.InstanceExited && g.Possible > bound {
			found = append(found, late{gap: g, death: g.Before, bound: bound})
		}
	}
	return found
}

func (l late) finding(t *Timeline) result.Finding {
	key := t.keyAfter(l.death.At)
	text := fmt.Sprintf("%s died at %s while it held the key, and nobody acquired for %s after that (one TTL of %s and its grace are %s)",
		instanceName(l.death.Instance), seconds(l.death.At), span(l.Possible), span(t.Plan.TTL), span(l.bound))
	if words := t.keyWords(key); words != "" {
		text += ": " + words
	}
	events := numbers(l.death, l.After, key)
	slices.Sort(events)
	return result.Finding{Property: result.Progress, Verdict: result.Stalled, Text: text, Events: events}
}

// keyAfter is the last look at the key since a time, a look at a key that is
// there before one that isn't; nil when nobody looked.
func (t *Timeline) keyAfter(from time.Duration) *history.Event {
	var found *history.Event
	for _, e := range t.Events {
		looked := e.Kind == history.KeyState && e.At >= from && e.Err == ""
		if looked && (found == nil || e.Value != "" || found.Value == "") {
			found = e
		}
	}
	return found
}

// keyWords says what was seen of the key, and whose it is.
func (t *Timeline) keyWords(e *history.Event) string {
	switch {
	case e == nil:
		return ""
	case e.Value == "" || e.TTL == -2:
		return "the key was free"
	case e.TTL >= 0:
		return fmt.Sprintf("the key had %s to live and %s", span(time.Duration(e.TTL)*time.Millisecond), t.holderWords(e))
	}
	words := "the key has no expiry (PTTL -1) and " + t.holderWords(e)
	if g := t.holderOf(e); g != nil && t.Death(g.Instance()) != nil {
		words += ": it stays locked for ever"
	}
	return words
}

func (t *Timeline) holderWords(e *history.Event) string {
	g := t.holderOf(e)
	switch {
	case g == nil:
		return "its holder isn't known"
	case t.Death(g.Instance()) != nil:
		return fmt.Sprintf("its holder, %s, is dead", instanceName(g.Instance()))
	default:
		return fmt.Sprintf("its holder, %s, is alive", g)
	}
}

// holderOf is the grant whose key somebody looked at, or nil.
func (t *Timeline) holderOf(e *history.Event) *Grant {
	for _, g := range slices.Backward(t.Grants) {
		if g.Event.At <= e.At && g.Event.Value == e.Value && (e.Key == "" || g.Event.Key == e.Key) {
			return g
		}
	}
	return nil
}
