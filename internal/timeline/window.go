package timeline

import "time"

// Opening is the part of the run that a reader should see first: around the
// first violation, else around the first thing that was withstood, else all of
// the load.
func (t *Timeline) Opening() Span {
	for _, vs := range [][]Violation{t.Harm(), t.Violations} {
		if len(vs) > 0 {
			return t.Around(vs[0])
		}
	}
	if t.Load.Len() > 0 {
		return t.pad(t.Load)
	}
	return t.Span
}

// Around is a violation with some time on both sides of it.
func (t *Timeline) Around(v Violation) Span { return t.pad(v.Span) }

// shortest is the least that is worth a look.
const shortest = 20 * time.Millisecond

// pad adds a fifth on both sides, within the run.
func (t *Timeline) pad(s Span) Span {
	more := max(s.Len()/5, (shortest-s.Len())/2)
	return Span{max(0, s.From-more), min(max(t.To, shortest), s.To+more)}
}
