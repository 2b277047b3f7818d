package timeline

import (
	"cmp"
	"slices"
	"time"
)

// maxRows bounds the lines of one lane. More holders at once than that share the
// last one.
const maxRows = 4

// Arrange gives every hold of a lane a row in which it covers no other, as long
// as there are rows, and counts the rows.
func (l *Lane) Arrange() {
	slices.SortStableFunc(l.Holds, func(a, b Hold) int { return cmp.Compare(a.Whole().From, b.Whole().From) })
	var ends []time.Duration
	for i := range l.Holds {
		w := l.Holds[i].Whole()
		row := slices.IndexFunc(ends, func(end time.Duration) bool { return end <= w.From })
		switch {
		case row < 0 && len(ends) < maxRows:
			row = len(ends)
			ends = append(ends, 0)
		case row < 0:
			row = maxRows - 1
		}
		ends[row] = max(ends[row], w.To)
		l.Holds[i].Row = row
	}
	l.Rows = max(1, len(ends))
}
