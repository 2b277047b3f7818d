package checks

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/oversell/oversell/result"
)

// exclusion finds holders who were inside at the same time.
//
// Its findings never make a verdict of their own. What counts is the shop:
// with a fence two holders are harmless as long as the fence turns the stale
// writes away, and without one the stock tells whether they did any damage,
// which reconciliation judges. The findings are there so that the report says
// what the lock let through instead of hiding it.
func exclusion() Check {
	return check(Check{
		Name:     "exclusion",
		Summary:  "never two holders at once, definite and possible",
		Property: result.Exclusion,
	}, judgeExclusion)
}

func judgeExclusion(t *Timeline) []result.Finding {
	var fs []result.Finding
	if f := definite(t); f != nil {
		fs = append(fs, *f)
	}
	if f := possible(t); f != nil {
		fs = append(fs, *f)
	}
	return fs
}

// Overlap is two purchases that were definitely inside at the same time.
type Overlap struct {
	First  *Purchase // who was inside already
	Second *Purchase // who acquired then
	From   time.Duration
	For    time.Duration
}

// String says who and when: "instance 2, buyer 7 and instance 5, buyer 1 were
// both inside for 412 ms from 3.214 s".
func (o Overlap) String() string {
	return fmt.Sprintf("%s and %s were both inside for %s from %s", o.First, o.Second, span(o.For), seconds(o.From))
}

// overlapOf is the overlap of the held intervals of two purchases.
func overlapOf(a, b *Purchase) (Overlap, bool) {
	if a == nil || b == nil || a == b || !a.Held() || !b.Held() {
		return Overlap{}, false
	}
	if b.From < a.From {
		a, b = b, a
	}
	end := min(a.Until, b.Until)
	return Overlap{First: a, Second: b, From: b.From, For: end - b.From}, end > b.From
}

// holders are the purchases that were inside, in the order in which they acquired.
func (t *Timeline) holders() []*Purchase {
	var ps []*Purchase
	for _, p := range t.Purchases {
		if p.Held() {
			ps = append(ps, p)
		}
	}
	slices.SortFunc(ps, func(a, b *Purchase) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Answer.N, b.Answer.N))
	})
	return ps
}

// doubleHolds sweeps over the held intervals: an acquisition is a double hold
// when anybody who acquired before is still inside. It is enough to remember
// who of those stays longest.
func doubleHolds(t *Timeline) []Overlap {
	var found []Overlap
	var longest *Purchase
	for _, p := range t.holders() {
		if o, ok := overlapOf(longest, p); ok {
			found = append(found, o)
		}
		if longest == nil || p.Until > longest.Until {
			longest = p
		}
	}
	return found
}

// mostAtOnce is how many purchases were inside at the same time, at most.
func mostAtOnce(t *Timeline) int {
	holders := t.holders()
	ends := make([]time.Duration, len(holders))
	for i, p := range holders {
		ends[i] = p.Until
	}
	slices.Sort(ends)
	most, gone := 0, 0
	for i, p := range holders {
		for ends[gone] <= p.From {
			gone++
		}
		most = max(most, i+1-gone)
	}
	return most
}

func definite(t *Timeline) *result.Finding {
	overlaps := doubleHolds(t)
	if len(overlaps) == 0 {
		return nil
	}
	text := fmt.Sprintf("%s made while another holder was inside, %d at once at most: first %s",
		counted(len(overlaps), "acquisition"), mostAtOnce(t), overlaps[0])
	if refused := len(t.refused()); t.Plan.Fenced && t.balanced() {
		text += "; harmless: nothing was oversold"
		if refused > 0 {
			text += ", the fence refused " + counted(refused, "write")
		}
	}
	f := result.Finding{Property: result.Exclusion, Verdict: result.OK, Text: text}
	for _, o := range overlaps {
		f.Events = append(f.Events, o.First.Answer.N, o.Second.Answer.N)
	}
	slices.Sort(f.Events)
	f.Events = slices.Compact(f.Events)
	return &f
}

// balanced reports whether the stock came out right.
func (t *Timeline) balanced() bool { return t.Counted != nil && t.Sold()+t.Left() == t.Plan.Stock }

// askedAt is when the purchase asked for the lock, as far as it is known.
func (p *Purchase) askedAt() time.Duration {
	if p.Asked != nil {
		return p.Asked.At
	}
	return p.Answer.At
}
