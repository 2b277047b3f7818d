package checks

import (
	"cmp"
	"slices"
	"time"
)

// Moment is one line of a story: what happened at a time.
type Moment struct {
	At   time.Duration
	Text string
}

// Moments tell the trace in plain words, in order of time: from the fault to
// the order.
func (tr Trace) Moments() []Moment { return exported(tr.moments()) }

// Moment tells of the overlap.
func (o Overlap) Moment() Moment {
	m := o.moment()
	return Moment{m.at, m.text}
}

func exported(ms []moment) []Moment {
	slices.SortStableFunc(ms, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	out := make([]Moment, len(ms))
	for i, m := range ms {
		out[i] = Moment{m.at, m.text}
	}
	return slices.Compact(out)
}

// Span writes how long something took: "412 ms", "1.205 s".
func Span(d time.Duration) string { return span(d) }

// Traces explains every unit too many, in the order in which they came back on
// the shelf. It is empty when there are none.
func (t *Timeline) Traces() []Trace { return t.traces() }

// Overlaps lists every acquisition that was made while another purchase was
// definitely inside, in order of time.
func (t *Timeline) Overlaps() []Overlap { return doubleHolds(t) }

// Refused lists the purchases whose commit the fence turned away, in order of time.
func (t *Timeline) Refused() []*Purchase { return t.refused() }

// Last is the time of the last event.
func (t *Timeline) Last() time.Duration { return t.last }
