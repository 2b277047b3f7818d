// Package checks turns a history into findings. Checks are pure functions: the
// same history gives the same findings, in this run or years later.
package checks

import (
	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// Check judges one property of a run.
type Check struct {
	Name     string // e.g. "reconciliation"
	Summary  string // one line
	Property result.Property
	Judge    func(history.History) []result.Finding

	ofTimeline func(*Timeline) []result.Finding // what Judge does, once the history is in order; nil for a check from elsewhere
}

// check makes a check of what judges a timeline.
func check(c Check, judge func(*Timeline) []result.Finding) Check {
	c.Judge = func(h history.History) []result.Finding { return judge(Reconstruct(h)) }
	c.ofTimeline = judge
	return c
}

// Judge asks every check, in that order. It comes to what the checks' own Judge
// functions come to, and puts the history in order once and not once for each.
func (t *Timeline) Judge(list []Check) []result.Finding {
	found := []result.Finding{}
	for _, c := range list {
		if c.ofTimeline != nil {
			found = append(found, c.ofTimeline(t)...)
		} else {
			found = append(found, c.Judge(t.History)...)
		}
	}
	return found
}
