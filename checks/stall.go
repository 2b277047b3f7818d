package checks

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

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
		return &stall{gap: t.withoutSale(gaps), ended: e}
	}
	longest := slices.MaxFunc(gaps, func(a, b gap) int { return cmp.Compare(a.Waited, b.Waited) })
	if t.Plan.StallAfter <= 0 || longest.Waited <= t.Plan.StallAfter {
		return nil
	}
	return &stall{gap: longest}
}

// withoutSale is what the engine gave up on: the last time within the load,
// about as long as the bound, in which nobody bought anything or found out that
// nothing is left. Whoever acquired meanwhile got nowhere.
func (t *Timeline) withoutSale(gaps []gap) gap {
	pieces := []gap{{From: t.Start}}
	for _, e := range t.Events {
		sold := e.Kind == history.Committed || e.Kind == history.SoldOut || e.Kind == history.BuyerDone
		if !sold || e.At < t.Start || e.At > t.End {
			continue
		}
		last := &pieces[len(pieces)-1]
		last.Until, last.After = e.At, e
		pieces = append(pieces, gap{From: e.At, Before: e})
	}
	s := pieces[len(pieces)-1]
	s.Until = t.End
	pieces[len(pieces)-1] = s
	for _, p := range slices.Backward(pieces) {
		if p.Until-p.From >= t.Plan.StallAfter*9/10 { // the engine decides by its own clock, and notes it later
			s = p
			break
		}
	}
	for _, g := range gaps {
		if g.Until > s.From && g.From < s.Until {
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
