package result

// State is what became of a run since an earlier invocation.
type State string

// The states. A problem is a gate that isn't met.
const (
	New       State = "new"       // a problem that the baseline doesn't have, or has in another way
	Still     State = "still"     // the problem that the baseline has, too
	Fixed     State = "fixed"     // the baseline has a problem, and there is none any more
	Unchanged State = "unchanged" // no problem, here or there
)

// Baseline is how a run compares with the same scenario under the same lock in
// an earlier invocation.
type Baseline struct {
	State   State   `json:"state"`
	Verdict Verdict `json:"verdict"` // there; "" when the baseline doesn't have the run
	Gate    Gate    `json:"gate"`    // there
	// Accepted says that the user lets this problem pass because it was there
	// before.
	Accepted bool `json:"accepted,omitempty"`
}

// Compare says what became of r since earlier, which is nil when the baseline
// doesn't have the run. A run that is inconclusive now has fixed nothing: what
// was a problem there still is one.
func Compare(r Run, earlier *Run) Baseline {
	if earlier == nil {
		b := Baseline{State: Unchanged}
		if r.Gate != Pass {
			b.State = New
		}
		return b
	}
	b := Baseline{State: Unchanged, Verdict: earlier.Verdict, Gate: earlier.Gate}
	was, is := earlier.Gate != Pass, r.Gate != Pass
	switch {
	case is && was && (r.Verdict == earlier.Verdict || r.Gate != Fail):
		b.State = Still
	case is:
		b.State = New
	case was:
		b.State = Fixed
	}
	return b
}

// Counted is the gate of r as the invocation counts it: met, too, when the user
// has accepted its problem. What can't be concluded is never accepted.
func (r Run) Counted() Gate {
	if r.Baseline != nil && r.Baseline.Accepted && r.Gate == Fail {
		return Pass
	}
	return r.Gate
}
