package checks

import (
	"slices"
	"time"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// serversAnswered doubts a standstill in which the harness itself got no answer
// from a server either, although that was there again afterwards: for half of
// the time in which nobody could buy. Whoever waits for a server that is too busy
// to answer gets nowhere under any lock.
func serversAnswered(t *Timeline) []result.Finding {
	s := t.stall()
	if s == nil {
		return nil
	}
	before := make(map[string]*history.Event)
	for _, e := range t.Events {
		switch {
		case e.Kind == history.ServerRole && e.Text == "killed":
			delete(before, e.Server)
		case e.Kind == history.ServerSampled:
			last := before[e.Server]
			before[e.Server] = e
			if last == nil || 2*overlap(s.gap, last.At, e.At) < s.Until-s.From {
				continue
			}
			return []result.Finding{doubt(true, numbers(last, e),
				"%s didn't answer the harness either, for %s from %s on, while nobody could buy: it was too busy, or the way to it was",
				e.Server, span(e.At-last.At), seconds(last.At))}
		}
	}
	return nil
}

// overlap is how much of a time lies within a gap.
func overlap(g gap, from, until time.Duration) time.Duration {
	return max(0, min(g.Until, until)-max(g.From, from))
}

// serversInTime doubts what a run holds against a lock, other than that nobody
// got on, when a command of its own took as long as a machine may stand still,
// for no reason but that the server, or the way to it, was too busy.
func serversInTime(t *Timeline) []result.Finding {
	if t.Plan.TTL <= 0 {
		return nil
	}
	events, longest := t.tooLongUnderLoad(func(e *history.Event) time.Duration {
		if e.Away <= t.tooLong() || t.heldUp(e.At-e.Took, e.At) {
			return 0
		}
		return e.Away
	})
	if longest == nil || !t.accusedOfMore() || t.guiltyAnyway() {
		return nil
	}
	return []result.Finding{doubt(true, events,
		"%s, or the way to it, took %s for the %s of %s at %s without any fault (%s in all), which alone may end a lock's hold: its TTL is %s",
		longest.Server, span(longest.Away), longest.Command, instanceName(longest.Instance), seconds(longest.At),
		counted(len(events), "such answer"), span(t.Plan.TTL))}
}

// heldUp reports whether a fault may have kept a server from answering, or a
// reply from arriving, at any moment of a time. Those that only prolong a business
// call don't.
func (t *Timeline) heldUp(from, until time.Duration) bool {
	for _, f := range t.Faults {
		if slices.Contains(ofCalls, f.Fault) || f.At-f.Took > until {
			continue
		}
		if max(f.At, t.healedAt(f)) >= from {
			return true
		}
	}
	return false
}

// ofCalls are the faults that touch nothing but business calls.
var ofCalls = []string{"slow-call", "outlast", "hold-overtaker", "hold-until-next"}

// healedAt is when a fault was undone, 0 when nothing was.
func (t *Timeline) healedAt(f *history.Event) time.Duration {
	for _, e := range t.Events {
		if e.Kind == history.FaultHealed && e.Step == f.Step && e.At >= f.At {
			return e.At
		}
	}
	return 0
}
