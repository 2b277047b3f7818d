package timeline

import "time"

// thinShapes merges what lies outside of the whole spans: of each lane, all
// that begins in the same short time becomes one shape that says how many it
// stands for.
func (out *Timeline) thinShapes(t *Timeline, b Budget, whole []Span) {
	rows := len(t.Keys) + 2
	for _, l := range t.Lanes {
		rows += max(1, l.Rows)
	}
	buckets := max(20, b.Shapes/4/rows)
	m := merger{whole: whole, step: max(1, t.Len()/time.Duration(buckets))}
	out.Lanes = nil
	for _, l := range t.Lanes {
		l.Holds = m.holds(l.Holds)
		out.Lanes = append(out.Lanes, l)
	}
	out.Keys = nil
	for _, k := range t.Keys {
		k.Grants = m.grants(k.Grants)
		out.Keys = append(out.Keys, k)
	}
	out.Overlaps = m.overlaps(t.Overlaps)
	out.Stock = m.levels(t.Stock)
}

type merger struct {
	whole []Span
	step  time.Duration
}

func (m merger) bucket(at time.Duration) int64 { return int64(at / m.step) }

func (m merger) holds(all []Hold) []Hold {
	var out []Hold
	open := map[int]int{} // the merged one of each row, as an index of out
	for _, h := range all {
		w := h.Whole()
		if within(m.whole, w) {
			out = append(out, h)
			continue
		}
		if i, ok := open[h.Row]; ok && m.bucket(out[i].From) == m.bucket(w.From) {
			o := &out[i]
			o.To, o.Many = max(o.To, w.To), o.Many+1
			continue
		}
		open[h.Row] = len(out)
		out = append(out, Hold{Span: w, Row: h.Row, Many: 1, Event: h.Event})
	}
	return out
}

func (m merger) grants(all []Grant) []Grant {
	var out []Grant
	last := -1
	for _, g := range all {
		if within(m.whole, g.Span) {
			out = append(out, g)
			continue
		}
		if last >= 0 && m.bucket(out[last].From) == m.bucket(g.From) {
			o := &out[last]
			o.To, o.Many = max(o.To, g.To), o.Many+1
			continue
		}
		last = len(out)
		out = append(out, Grant{Span: g.Span, Many: 1, Event: g.Event})
	}
	return out
}

func (m merger) overlaps(all []Overlap) []Overlap {
	var out []Overlap
	last := -1
	for _, o := range all {
		if within(m.whole, o.Span) {
			out = append(out, o)
			continue
		}
		if last >= 0 && m.bucket(out[last].From) == m.bucket(o.From) {
			l := &out[last]
			l.To, l.Many = max(l.To, o.To), l.Many+1
			continue
		}
		last = len(out)
		out = append(out, Overlap{Span: o.Span, Many: 1, Event: o.Event})
	}
	return out
}

// levels keeps the last level of each short time.
func (m merger) levels(all []Level) []Level {
	var out []Level
	for i, l := range all {
		first := i == 0 || i == len(all)-1
		last := i+1 < len(all) && m.bucket(all[i+1].At) != m.bucket(l.At)
		if first || last || within(m.whole, Span{l.At, l.At}) {
			out = append(out, l)
		}
	}
	return out
}
