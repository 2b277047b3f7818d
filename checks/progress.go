package checks

import (
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
	return check(Check{
		Name:     "progress",
		Summary:  "whoever can buy gets to buy, also after a holder has died",
		Property: result.Progress,
	}, judgeProgress)
}

func judgeProgress(t *Timeline) []result.Finding {
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
