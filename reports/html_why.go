package reports

import (
	"fmt"
	"strings"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/internal/timeline"
	"github.com/oversell/oversell/result"
)

// whyView is why a run came out as it did: a chain of events for each violation.
type whyView struct {
	ID, Name string
	Lead     []string
	Items    []chainView
	Evidence []lineView
}

type chainView struct {
	ID, Class, Title, When string
	A, B, At, End          string // parts of the axis
	Lines                  []lineView
	Proof                  []int64
	More                   string
}

type lineView struct {
	When, Text string
	Event      int64
}

// maxProof is how many events are listed below a chain.
const maxProof = 24

func (d *drawn) why(x axis) whyView {
	w := whyView{ID: d.id, Name: d.name, Lead: d.whyLead()}
	shown := make(map[int64]bool, len(d.t.Events))
	for _, e := range d.t.Events {
		shown[e.N] = true
	}
	for i, v := range d.t.Violations {
		w.Items = append(w.Items, d.chain(x, i+1, v, shown))
	}
	if len(w.Items) == 0 {
		w.Evidence = d.evidence()
	}
	return w
}

// whyLead introduces the chains.
func (d *drawn) whyLead() []string {
	var lead []string
	switch {
	case !d.judged():
		lead = append(lead, d.failure()+".")
	case len(d.t.Harm()) == 0 && len(d.t.Violations) > 0:
		lead = append(lead, "Nothing was broken. This is what went wrong and did no harm.")
	case len(d.t.Violations) == 0:
		lead = append(lead, d.r.Story...)
	}
	for _, f := range d.r.Findings {
		if f.Voids || f.Verdict == result.Inconclusive {
			lead = append(lead, f.Text+".")
		}
	}
	if text := Advice(d.r); text != "" && d.r.Verdict == result.Oversold {
		lead = append(lead, "Advice: "+text)
	}
	return lead
}

func (d *drawn) chain(x axis, n int, v timeline.Violation, shown map[int64]bool) chainView {
	around := d.t.Around(v)
	c := chainView{
		ID: fmt.Sprintf("%sv%d", d.id, n), Title: tidy(v.Title), When: "at " + timeOf(v.At),
		A: part(x.of(around.From)), B: part(x.of(around.To)),
		At: part(x.of(v.At)), End: part(x.of(focusEnd(d.t, v))),
	}
	if v.Kind != timeline.Withstood {
		c.Class = "bad"
	}
	for _, l := range v.Lines {
		line := lineView{Text: tidy(l.Text)}
		if l.At >= 0 {
			line.When = timeOf(l.At)
		}
		if shown[l.Event] {
			line.Event = l.Event
		}
		c.Lines = append(c.Lines, line)
	}
	for _, e := range v.Events {
		if shown[e] && len(c.Proof) < maxProof {
			c.Proof = append(c.Proof, e)
		}
	}
	if more := len(v.Events) - len(c.Proof); more > 0 {
		c.More = fmt.Sprintf("and %d more", more)
	}
	return c
}

func (d *drawn) evidence() []lineView {
	var lines []lineView
	for i, e := range d.r.Evidence {
		if i == maxStory {
			lines = append(lines, lineView{Text: fmt.Sprintf("and %d more", len(d.r.Evidence)-i)})
			break
		}
		lines = append(lines, lineView{When: at(e.AtMS), Text: "fault " + e.Fault + ": " + e.Proof})
	}
	return lines
}

// withoutTimeline tells runs of which there is no history.
func withoutTimeline(ds []*drawn) []whyView {
	var ws []whyView
	for _, d := range ds {
		w := whyView{ID: d.id, Name: d.name, Evidence: d.evidence()}
		w.Lead = append(w.Lead, d.r.Story...)
		w.Lead = append(w.Lead, capped(findings(d.r), maxFindings, d.r)...)
		ws = append(ws, w)
	}
	return ws
}

func whyTitle(ds []*drawn) string {
	harm := false
	for _, d := range ds {
		harm = harm || d.r.Verdict.Violation() && d.judged()
	}
	if harm {
		return "Why"
	}
	return "What happened"
}

func timelineLead(ds []*drawn) string {
	for _, d := range ds {
		if d.t != nil && len(d.t.Harm()) > 0 {
			return "It opens around the first violation. The boxes link to the table of events below; the chains under Why link back."
		}
	}
	return "The boxes link to the table of events below."
}

// thinned says what was left out of a large run's page.
func (d *drawn) thinned() []string {
	th := d.t.Thinned
	if th == nil {
		return nil
	}
	of := ""
	if d.name != "" {
		of = d.name + ": "
	}
	parts := []string{fmt.Sprintf("%sthis run is large, and thinned here. The page has %d of %d events", of, th.Events, th.OfEvents)}
	if th.Violations < th.OfViolations {
		parts = append(parts, fmt.Sprintf("tells %d of %d violations", th.Violations, th.OfViolations))
	}
	text := strings.Join(parts, " and ") + ". "
	if th.WholeViolations > 0 {
		var spans []string
		for i, s := range th.Whole {
			if i == 5 {
				spans = append(spans, "...")
				break
			}
			spans = append(spans, fmt.Sprintf("%s to %s", timeOf(s.From), timeOf(min(s.To, d.t.To))))
		}
		text += fmt.Sprintf("Nothing is left out around the first %s (%s); elsewhere what is close together is drawn as one box. ",
			plural(th.WholeViolations, "violation"), strings.Join(spans, ", "))
	} else {
		text += "What is close together is drawn as one box. "
	}
	return []string{text + "All of it is in history.jsonl of the run’s folder."}
}

// tableView is a run's table of events.
type tableView struct {
	ID, Name, Count string
	Rows            []rowView
}

type rowView struct {
	N                          int64
	At, Kind, Who, Text, Class string
}

func (d *drawn) table() tableView {
	t := tableView{ID: d.id, Name: d.name, Count: fmt.Sprintf("%d events", len(d.t.Events))}
	if th := d.t.Thinned; th != nil && th.Events < th.OfEvents {
		t.Count = fmt.Sprintf("%d of %d events", th.Events, th.OfEvents)
	}
	proof := map[int64]bool{}
	for _, v := range d.t.Violations {
		for _, l := range v.Lines {
			proof[l.Event] = true
		}
	}
	for _, e := range d.t.Events {
		row := rowView{N: e.N, At: fmt.Sprintf("%.6f", e.At.Seconds()), Kind: tidy(string(e.Kind)), Who: whoOf(e), Text: tidy(e.Text)}
		if proof[e.N] {
			row.Class = "proof"
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func whoOf(e timeline.Row) string {
	switch {
	case e.Instance == 0:
		return ""
	case e.Buyer == 0:
		return fmt.Sprintf("instance %d", e.Instance)
	}
	return fmt.Sprintf("instance %d, buyer %d", e.Instance, e.Buyer)
}

// groupView is one choice of the filter by kind: kinds that begin with one of
// some words.
type groupView struct{ Name, Value string }

func eventGroups() []groupView {
	words := func(kinds ...history.Kind) string {
		var w []string
		for _, k := range kinds {
			w = append(w, string(k))
		}
		return strings.Join(w, " ")
	}
	return []groupView{
		{"faults", "fault."},
		{"sales", words(history.Begun, history.Committed, history.CommitRefused, history.CommitUnknown, history.SoldOut)},
		{"lock, as buyers saw it", "acquire release lost abandoned"},
		{"lock, on the wire", "wire."},
		{"servers", "server. key."},
		{"run and processes", "run. load. instance. machine. stock. order."},
	}
}
