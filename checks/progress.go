package checks

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// progress finds times in which somebody wanted to buy and nobody got to.
//
// Two bounds apply. The plan's StallAfter bounds every gap between two
// acquisitions, whether or not somebody is inside meanwhile: a holder that is
// alive and renewed for ever keeps the others out like a dead one. What a
// planned fault explains is taken off the gap: the time in which a killed
// server had no successor yet, and the rest of a dead holder's TTL; and so is
// the time in which this machine itself stood still. And whoever dies while
// holding the key keeps it locked for one TTL at most, since a live holder
// can't have set a longer one; the shop must go on by then, plus half a TTL
// (and two pauses between attempts, when that is longer) for the next buyer to
// notice. Only time with nobody inside counts there. A key that was gone before
// its holder died explains nothing, and doesn't have to.
func progress() Check {
	return Check{
		Name:     "progress",
		Summary:  "whoever can buy gets to buy, also after a holder has died",
		Property: result.Progress,
		Judge:    judgeProgress,
	}
}

func judgeProgress(h history.History) []result.Finding {
	t := Reconstruct(h)
	var fs []result.Finding
	for _, s := range t.stalls() {
		fs = append(fs, s.finding(t))
	}
	return fs
}

// standing is a time in which nobody got on.
type standing interface {
	finding(t *Timeline) result.Finding
	moment(t *Timeline) moment // when it was over, for a story
}

// stalls judges progress.
func (t *Timeline) stalls() []standing {
	if s := t.stall(); s != nil {
		return []standing{s}
	}
	var found []standing
	for _, l := range t.lateAfterDeath() {
		found = append(found, l)
	}
	return found
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
	gaps := t.gaps(slices.Concat(t.outages(), t.standstills(), t.inherited()))
	if e := t.LoadEnded; e != nil && e.Phase == stalledPhase && t.Left() > 0 {
		return &stall{gap: t.sinceLastSale(gaps), ended: e}
	}
	longest := slices.MaxFunc(gaps, func(a, b gap) int { return cmp.Compare(a.Waited, b.Waited) })
	if t.Plan.StallAfter <= 0 || longest.Waited <= t.Plan.StallAfter {
		return nil
	}
	return &stall{gap: longest}
}

// sinceLastSale is what the engine gave up on: the time to the end of the load
// in which nobody bought anything, or found out that nothing is left. Whoever
// acquired meanwhile got nowhere.
func (t *Timeline) sinceLastSale(gaps []gap) gap {
	s := gap{From: t.Start, Until: t.End}
	for _, e := range t.Events {
		if (e.Kind == history.Committed || e.Kind == history.SoldOut || e.Kind == history.BuyerDone) && e.At <= t.End {
			s.From, s.Before = max(e.At, t.Start), e
		}
	}
	for _, g := range gaps {
		if g.Until > s.From {
			s.Waited, s.Possible = s.Waited+g.Waited, s.Possible+g.Possible
		}
	}
	return s
}

func (s *stall) finding(t *Timeline) result.Finding {
	text := fmt.Sprintf("nobody acquired for %s from %s on%s", span(s.Waited), seconds(s.From), s.unjustly(t))
	if s.ended != nil {
		text = fmt.Sprintf("nobody bought any more from %s on, with %s left, until the load was given up at %s%s",
			seconds(s.From), counted(t.Left(), "unit"), seconds(s.ended.At), t.inVain(s.gap))
	}
	events := numbers(s.Before, s.After, s.ended)
	if p := t.insideLongest(s.gap); p != nil {
		events = append(events, numbers(p.Answer, p.CallStart, p.CallEnd, p.ReleaseStart)...)
	} else {
		events = append(events, numbers(t.keyIn(s.gap))...)
	}
	for _, e := range t.deathsOfHolders() {
		if e.At >= s.From && e.At <= s.Until {
			events = append(events, e.N)
		}
	}
	slices.Sort(events)
	return result.Finding{
		Property: result.Progress, Verdict: result.Stalled, Text: text + t.blame(s.gap), Events: slices.Compact(events),
	}
}

func (s *stall) moment(t *Timeline) moment {
	if s.ended != nil {
		return moment{s.ended.At, fmt.Sprintf("the load was given up: nobody had bought anything since %s, with %s left%s",
			seconds(s.From), counted(t.Left(), "unit"), t.inVain(s.gap)) + t.blame(s.gap)}
	}
	return moment{s.Until, fmt.Sprintf("nobody had acquired for %s%s", span(s.Waited), s.unjustly(t)) + t.blame(s.gap)}
}

// inVain tells of those who acquired in a time in which nobody bought anything,
// and were through before its end.
func (t *Timeline) inVain(g gap) string {
	n := 0
	for _, p := range t.Purchases {
		if p.Held() && p.From > g.From && p.Until < g.Until {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", although %s held the lock meanwhile", counted(n, "purchase"))
}

func (s *stall) unjustly(t *Timeline) string {
	return fmt.Sprintf(", although stock was left and somebody wanted it (the bound is %s)", span(t.Plan.StallAfter))
}

// blame says who or what kept the others out during a gap, as far as that was seen.
func (t *Timeline) blame(g gap) string {
	p := t.insideLongest(g)
	if p == nil {
		if words := t.keyWords(t.keyIn(g)); words != "" {
			return ": " + words
		}
		return ""
	}
	stay := p.Until - p.From
	text := fmt.Sprintf(": %s was inside for %s", p, span(stay))
	if ttl := t.Plan.TTL; ttl > 0 {
		text += fmt.Sprintf(" = %.1f x TTL", float64(stay)/float64(ttl))
	}
	if p.Hold != nil && p.Hold.renewals() > 0 {
		text += fmt.Sprintf(", and its watchdog kept the key (%s)", counted(p.Hold.renewals(), "renewal"))
	}
	return text
}

// insideLongest is whoever was inside for most of what a gap had others wait,
// nil when nobody was.
func (t *Timeline) insideLongest(g gap) *Purchase {
	if g.Possible >= g.Waited-g.Possible {
		return nil
	}
	var found *Purchase
	longest := g.Waited / 2
	for _, p := range t.holders() {
		if stay := min(p.Until, g.Until) - max(p.From, g.From); stay > longest {
			found, longest = p, stay
		}
	}
	return found
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

// standstills are the times in which this machine kept anybody from getting on.
// The engine's own stand for all: everything crosses its wire. That one
// instance stood still says nothing about the others, unless the key was its
// own just then. A process that a fault has paused is the hazard, and no excuse.
func (t *Timeline) standstills() []interval {
	var found []interval
	for _, e := range t.Events {
		if e.Kind != history.MachineStalled || e.Took <= 0 || e.Fault != "" {
			continue
		}
		if e.Instance == 0 || t.heldBy(e.Instance, e.At-e.Took, e.At) {
			found = append(found, interval{e.At - e.Took, e.At})
		}
	}
	return found
}

// heldBy reports whether an instance had the key at any moment of a time.
func (t *Timeline) heldBy(instance int, from, until time.Duration) bool {
	return slices.ContainsFunc(t.Holds, func(h *Hold) bool {
		return h.Instance() == instance && h.Enough() && (h.HeldAt(from) || from <= h.At() && h.At() < until)
	})
}

// inherited are the times in which a dead holder's key was still living out
// its TTL.
func (t *Timeline) inherited() []interval {
	var found []interval
	for _, h := range t.Holds {
		death := t.Death(h.Instance())
		if death == nil || !h.HeldAt(death.At) {
			continue
		}
		if expiry, ok := h.expiry(); ok {
			found = append(found, interval{death.At, min(expiry, death.At+t.Plan.TTL)})
		}
	}
	return found
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
	for _, g := range t.gaps(slices.Concat(t.outages(), t.standstills()), deaths...) {
		if g.Before != nil && g.Before.Kind == history.InstanceExited && g.Possible > bound {
			found = append(found, late{gap: g, death: g.Before, bound: bound})
		}
	}
	return found
}

func (l late) finding(t *Timeline) result.Finding {
	events := numbers(l.death, l.After, t.keyIn(l.gap))
	slices.Sort(events)
	return result.Finding{
		Property: result.Progress, Verdict: result.Stalled, Events: events,
		Text: fmt.Sprintf("%s died at %s while it held the key, and nobody acquired for %s after that%s",
			instanceName(l.death.Instance), seconds(l.death.At), span(l.Possible), l.bounds(t)) + t.blame(l.gap),
	}
}

func (l late) moment(t *Timeline) moment {
	return moment{l.Until, fmt.Sprintf("nobody had acquired for %s after %s had died with the key%s",
		span(l.Possible), instanceName(l.death.Instance), l.bounds(t)) + t.blame(l.gap)}
}

func (l late) bounds(t *Timeline) string {
	return fmt.Sprintf(" (one TTL of %s and its grace are %s)", span(t.Plan.TTL), span(l.bound))
}
