package checks

import (
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
