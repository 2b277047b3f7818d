// Package result holds the words in which a run is judged. It imports nothing
// of the project, so that everything else can use them.
package result

// Verdict says what became of the stock and of the lock in one run.
type Verdict string

// Verdicts, worst first. Inconclusive is never a pass.
const (
	Oversold     Verdict = "oversold"     // more orders than stock
	Mismatch     Verdict = "mismatch"     // orders + stock left differ from the initial stock
	Stalled      Verdict = "stalled"      // demand and stock were left, and nobody could buy within the bound
	Leaked       Verdict = "leaked"       // a renewal or a key outlived its purchase
	Misreported  Verdict = "misreported"  // the lock told its caller something untrue
	Inconclusive Verdict = "inconclusive" // nothing can be concluded from this run
	OK           Verdict = "ok"
)

// Verdicts lists every verdict, worst first.
func Verdicts() []Verdict {
	return []Verdict{Oversold, Mismatch, Stalled, Leaked, Misreported, Inconclusive, OK}
}

// rank is the place of v in Verdicts; unknown words rank as worst, so that a
// typo can never pass for a good result.
func (v Verdict) rank() int {
	for i, w := range Verdicts() {
		if v == w {
			return i
		}
	}
	return -1
}

// Violation reports whether v says that the lock broke a property.
func (v Verdict) Violation() bool { return v != OK && v != Inconclusive }

// Worst returns the worst of the verdicts, and OK when there are none.
func Worst(vs ...Verdict) Verdict {
	worst := OK
	for _, v := range vs {
		if v.rank() < worst.rank() {
			worst = v
		}
	}
	return worst
}

// Property is what a check looks at.
type Property string

// The properties that checks judge.
const (
	Reconciliation Property = "reconciliation" // orders against stock
	Exclusion      Property = "exclusion"      // never two holders at once
	Fencing        Property = "fence"          // accepted tokens never go back
	Progress       Property = "progress"       // whoever can buy gets to buy
	Leak           Property = "leak"           // nothing outlives its purchase
	Truth          Property = "truth"          // what the lock said against what the server held
	Assumptions    Property = "assumptions"    // the run itself is worth judging
)
