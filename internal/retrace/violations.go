package retrace

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oversell/oversell/checks"
	"github.com/oversell/oversell/internal/printable"
	"github.com/oversell/oversell/internal/timeline"
	"github.com/oversell/oversell/result"
)

// violations tells every unit too many, and every other finding that broke
// something; of a run that broke nothing, what it withstood.
func (d *drawing) violations() {
	traces := d.c.Traces()
	for _, tr := range traces {
		d.out.Violations = append(d.out.Violations, d.unit(tr))
	}
	for _, f := range d.verdict.Findings {
		told := len(traces) > 0 && f.Property == result.Reconciliation
		if f.Verdict.Violation() && !told {
			d.out.Violations = append(d.out.Violations, d.broken(f))
		}
	}
	if len(d.out.Violations) == 0 {
		d.withstood()
	}
	slices.SortStableFunc(d.out.Violations, func(a, b timeline.Violation) int { return cmp.Compare(a.At, b.At) })
}

// unit is a unit too many.
func (d *drawing) unit(tr checks.Trace) timeline.Violation {
	v := timeline.Violation{Kind: timeline.TooMany, At: tr.Commit.At, Events: tr.Events}
	v.Title = fmt.Sprintf("Order %d is one too many", tr.Order)
	if tr.Order == 0 {
		v.Title = fmt.Sprintf("Unit %d too many is back on the shelf", tr.Unit)
	}
	for _, m := range tr.Moments() {
		v.Lines = append(v.Lines, timeline.Line{At: m.At, Text: m.Text, Event: d.eventAt(m.At, tr.Events)})
	}
	if o := tr.Overlap; o != nil {
		v.At, v.Short = o.From, both(o.First, o.Second)+" both inside for "+checks.Span(o.For)
	} else if len(tr.Losses) > 0 {
		v.Short = tr.Losses[0].Holder.String() + " no longer had the key"
	}
	ps := inside(tr.Commit.Purchase, tr.Seller)
	v.Span, v.Participants = d.around(v.At, v.Lines, ps), instances(ps)
	return v
}

// broken is another finding: its own words, and the run's story.
func (d *drawing) broken(f result.Finding) timeline.Violation {
	v := timeline.Violation{Kind: timeline.Broken, Title: titleOf(f), Events: f.Events}
	v.Lines = append(v.Lines, timeline.Line{At: -1, Text: f.Text})
	for _, line := range d.verdict.Story {
		at, text, ok := momentOf(line)
		if !ok {
			v.Lines = append(v.Lines, timeline.Line{At: -1, Text: line})
			continue
		}
		v.Lines = append(v.Lines, timeline.Line{At: at, Text: text, Event: d.eventNear(at, f.Events)})
	}
	first := time.Duration(-1)
	who := map[int]bool{}
	for _, n := range f.Events {
		if e := d.byN[n]; e != nil {
			v.Span = widen(v.Span, first < 0, e.At)
			first = v.Span.From
			if e.Instance > 0 {
				who[e.Instance] = true
			}
		}
	}
	if first < 0 {
		v.Span = d.out.Load
	}
	v.At = v.Span.From
	for id := range who {
		v.Participants = append(v.Participants, id)
	}
	slices.Sort(v.Participants)
	return v
}

func titleOf(f result.Finding) string {
	word := string(f.Verdict)
	if word == "" {
		return string(f.Property)
	}
	return printable.Sentence(word)
}

// momentOf reads a line of a story: "2.527 s  the key of ...".
func momentOf(line string) (at time.Duration, text string, ok bool) {
	number, text, ok := strings.Cut(line, " s  ")
	if !ok {
		return 0, "", false
	}
	s, err := strconv.ParseFloat(number, 64)
	if err != nil || s < 0 || s > 1e9 {
		return 0, "", false
	}
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond), text, true
}

// withstood tells which writes the fence refused, and who was inside together
// without harm.
func (d *drawing) withstood() {
	for _, p := range d.c.Refused() {
		v := timeline.Violation{
			Kind: timeline.Withstood, At: p.Commit.At, Title: "The fence refused a stale write", Short: "the fence refused " + p.String(),
			Events: []int64{p.Answer.N, p.Commit.N},
		}
		for _, o := range d.c.Overlaps() {
			if o.First == p || o.Second == p {
				v.Lines = append(v.Lines, timeline.Line{At: o.From, Text: o.Moment().Text, Event: o.Second.Answer.N})
			}
		}
		v.Lines = append(v.Lines, timeline.Line{At: p.Commit.At, Event: p.Commit.N,
			Text: fmt.Sprintf("the fence refused the write of %s: token %d was no longer the newest", p, p.Commit.Token)})
		v.Span, v.Participants = d.around(v.At, v.Lines, []*checks.Purchase{p}), []int{p.Instance}
		d.out.Violations = append(d.out.Violations, v)
	}
	if len(d.out.Violations) > 0 {
		return
	}
	for _, o := range d.c.Overlaps() {
		m := o.Moment()
		v := timeline.Violation{
			Kind: timeline.Withstood, At: o.From, Title: "Two were inside at once, without harm",
			Short:  both(o.First, o.Second) + " both inside for " + checks.Span(o.For),
			Events: []int64{o.First.Answer.N, o.Second.Answer.N},
			Lines:  []timeline.Line{{At: m.At, Text: m.Text, Event: o.Second.Answer.N}},
		}
		ps := inside(o.First, o.Second)
		v.Span, v.Participants = d.around(v.At, v.Lines, ps), instances(ps)
		d.out.Violations = append(d.out.Violations, v)
	}
}

// around is all the time of a chain and of those who took part in it.
func (d *drawing) around(at time.Duration, lines []timeline.Line, ps []*checks.Purchase) timeline.Span {
	s := timeline.Span{From: at, To: at}
	for _, l := range lines {
		if l.At >= 0 {
			s = widen(s, false, l.At)
		}
	}
	for _, p := range ps {
		if p.Held() {
			s = widen(widen(s, false, p.From), false, min(p.Until, d.c.Last()))
		}
	}
	return s
}

func widen(s timeline.Span, fresh bool, at time.Duration) timeline.Span {
	if fresh {
		return timeline.Span{From: at, To: at}
	}
	return timeline.Span{From: min(s.From, at), To: max(s.To, at)}
}

// eventAt is the event of that very time among some, 0 when there is none.
func (d *drawing) eventAt(at time.Duration, among []int64) int64 {
	for _, n := range among {
		if e := d.byN[n]; e != nil && e.At == at {
			return n
		}
	}
	return 0
}

// eventNear is the event of that millisecond among some, 0 when there is none.
func (d *drawing) eventNear(at time.Duration, among []int64) int64 {
	for _, n := range among {
		if e := d.byN[n]; e != nil && (e.At-at).Abs() <= time.Millisecond {
			return n
		}
	}
	return 0
}

func inside(ps ...*checks.Purchase) []*checks.Purchase {
	return slices.DeleteFunc(ps, func(p *checks.Purchase) bool { return p == nil })
}

func instances(ps []*checks.Purchase) []int {
	var ids []int
	for _, p := range ps {
		ids = append(ids, p.Instance)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
