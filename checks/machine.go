package checks

import (
	"slices"
	"time"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// machineRan doubts what a run holds against a lock when this machine stood
// still under load for so long that a key may have expired of that alone: for a
// third of the TTL where the lock renews that often, else for half of it. A
// lock that came through in spite of it has only stood more than was asked.
func machineRan(t *Timeline) []result.Finding {
	if t.Plan.TTL <= 0 {
		return nil
	}
	events, longest := t.tooLongUnderLoad(stoodStillFor)
	if longest == nil || !t.accused() || t.guiltyAnyway() {
		return nil
	}
	return []result.Finding{doubt(true, events,
		"this machine stood still for %s from %s on (%s in all), which alone may end a lock's hold: its TTL is %s",
		span(longest.Took), seconds(longest.At-longest.Took), counted(len(events), "stall"), span(t.Plan.TTL))}
}

// tooLong is a time after which a key may have expired of that alone.
func (t *Timeline) tooLong() time.Duration {
	if t.Plan.Renews {
		return t.Plan.TTL / 3
	}
	return t.Plan.TTL / 2
}

// tooLongUnderLoad are the numbers of the events under load that took too long, by
// a measure that is 0 for all others, and the longest of them, nil when there was
// none.
func (t *Timeline) tooLongUnderLoad(measure func(*history.Event) time.Duration) (events []int64, longest *history.Event) {
	for _, e := range t.Events {
		underLoad := e.At >= t.Start && e.At-e.Took <= t.End
		if !underLoad || measure(e) <= t.tooLong() {
			continue
		}
		events = append(events, e.N)
		if longest == nil || measure(e) > measure(longest) {
			longest = e
		}
	}
	slices.Sort(events)
	return events, longest
}

// stoodStillFor is how long this machine stood still before an event. A process
// that a fault has paused stands still because of that.
func stoodStillFor(e *history.Event) time.Duration {
	if e.Kind != history.MachineStalled || e.Fault != "" {
		return 0
	}
	return e.Took
}

// accused reports whether any other check holds something against the lock.
func (t *Timeline) accused() bool { return t.accusedOfMore() || t.accusedBy(judgeProgress) }

// accusedOfMore is accused of more than that nobody got on.
func (t *Timeline) accusedOfMore() bool {
	return t.accusedBy(judgeReconciliation, judgeExclusion, judgeFence, judgeLeak, judgeTruth)
}

func (t *Timeline) accusedBy(judges ...func(*Timeline) []result.Finding) bool {
	return slices.ContainsFunc(judges, func(judge func(*Timeline) []result.Finding) bool {
		return result.VerdictOf(judge(t)).Violation()
	})
}

// guiltyAnyway reports whether a machine that stood still changes nothing about
// what the lock did: a unit too many came of a planned fault, and of more than a
// key that expired while it should have been renewed. A lock that doesn't renew
// is only cleared where units too many are all there is, and none of them came
// of a fault.
func (t *Timeline) guiltyAnyway() bool {
	traces := t.traces()
	if len(traces) == 0 {
		return !t.Plan.Renews
	}
	return slices.ContainsFunc(traces, func(tr Trace) bool {
		if tr.Fault == nil {
			return false
		}
		return !t.Plan.Renews || len(tr.Losses) > 0 && tr.Losses[len(tr.Losses)-1].Cause != Expired
	})
}
