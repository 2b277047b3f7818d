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
}

// rebuilt judges a history by what it rebuilds to.
func rebuilt(judge func(*Timeline) []result.Finding) func(history.History) []result.Finding {
	return func(h history.History) []result.Finding { return judge(Reconstruct(h)) }
}
