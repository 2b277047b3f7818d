package reports

import (
	"slices"

	"github.com/oversell/oversell/result"
)

// Longer values come from a broken or hostile source and are cut.
const (
	maxName  = 200
	maxProse = 4000
)

// A cleaner makes one string safe for its format, at most max columns long
// (0: as long as it is).
type cleaner func(s string, max int) string

// scrub returns copies of runs in which every string was cleaned. The runs
// themselves stay as they are. The command isn't cut: half of it is no use.
func scrub(runs []result.Run, clean cleaner) []result.Run {
	name := func(s string) string { return clean(s, maxName) }
	prose := func(s string) string { return clean(s, maxProse) }
	out := slices.Clone(runs)
	for i := range out {
		r := &out[i]
		r.Scenario, r.Lock, r.Alias = name(r.Scenario), name(r.Lock), name(r.Alias)
		r.Backend, r.Server = name(r.Backend), name(r.Server)
		r.Hazard = result.Hazard(name(string(r.Hazard)))
		r.Expected = result.Expectation(name(string(r.Expected)))
		r.Verdict = result.Verdict(name(string(r.Verdict)))
		r.Dir, r.Command = prose(r.Dir), clean(r.Command, 0)
		r.Story = slices.Clone(r.Story)
		for j, s := range r.Story {
			r.Story[j] = prose(s)
		}
		r.Evidence = slices.Clone(r.Evidence)
		for j, e := range r.Evidence {
			r.Evidence[j].Fault, r.Evidence[j].Proof = name(e.Fault), prose(e.Proof)
		}
		r.Findings = slices.Clone(r.Findings)
		for j, f := range r.Findings {
			r.Findings[j].Property, r.Findings[j].Text = result.Property(name(string(f.Property))), prose(f.Text)
			r.Findings[j].Verdict = result.Verdict(name(string(f.Verdict)))
		}
		if r.Baseline != nil {
			b := *r.Baseline
			b.State, b.Verdict = result.State(name(string(b.State))), result.Verdict(name(string(b.Verdict)))
			r.Baseline = &b
		}
	}
	return out
}
