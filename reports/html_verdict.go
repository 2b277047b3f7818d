package reports

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/oversell/oversell/internal/printable"
	"github.com/oversell/oversell/internal/timeline"
	"github.com/oversell/oversell/result"
)

// runView is a run's verdict, and what it was played on.
type runView struct {
	ID, Name, Tone, Badge, Headline string
	Notes                           []string
	Numbers                         []numberView
	Rate, Command                   string
	Facts                           []factView
	Steps                           []stepView
	Raw                             string
}

type numberView struct {
	Name, Value, Of string
	Loud            bool
}

type factView struct{ Name, Value string }

type stepView struct {
	N                   int
	Fault, When, Became string
}

func (d *drawn) view() runView {
	v := runView{
		ID: d.id, Name: d.name, Tone: tone(d.r), Badge: badge(d.r), Headline: d.headline(),
		Notes: d.notes(), Command: d.r.Command, Facts: d.facts(), Steps: d.steps(),
	}
	if d.judged() {
		v.Numbers, v.Raw = numbersOf(d.r), rawJSON(d.raw)
	}
	if d.r.Trials > 1 {
		v.Rate = "Violations in " + trials(d.r) + ". Below is the trial that decided."
	}
	return v
}

// judged reports whether the run came to a verdict at all.
func (d *drawn) judged() bool { return d.r.Verdict != "" }

func badge(r result.Run) string {
	if r.Verdict == "" {
		return "NO VERDICT"
	}
	return strings.ToUpper(string(r.Verdict))
}

func tone(r result.Run) string {
	switch {
	case r.Verdict == result.OK:
		return "good"
	case r.Verdict == "", r.Verdict == result.Inconclusive:
		return "doubt"
	}
	return "bad"
}

// headline is the verdict in one sentence.
func (d *drawn) headline() string {
	r := d.r
	switch {
	case !d.judged():
		return d.failure()
	case r.Verdict == result.Oversold:
		return fmt.Sprintf("%d sold, stock %d%s", r.Sold, r.Stock.Initial, d.first())
	case r.Verdict == result.Mismatch:
		return fmt.Sprintf("%d sold and %d left of %d%s", r.Sold, r.Stock.Left, r.Stock.Initial, d.first())
	case r.Verdict == result.Inconclusive:
		return printable.Sentence(doubt(r))
	case r.Verdict == result.OK:
		return fmt.Sprintf("%d sold of %d, none too many%s", r.Sold, r.Stock.Initial, withstoodWords(r))
	}
	for _, f := range r.Findings {
		if f.Verdict == r.Verdict {
			text, _, _ := strings.Cut(f.Text, ": ")
			return printable.Sentence(text)
		}
	}
	return fmt.Sprintf("%d sold of %d", r.Sold, r.Stock.Initial)
}

// failure says why there is no verdict.
func (d *drawn) failure() string {
	switch {
	case d.t == nil || d.t.Failed == "":
		return "The run came to no verdict"
	case d.neverStarted():
		return "The run failed to start: " + tidy(d.t.Failed)
	}
	return "The run came to no verdict: " + tidy(d.t.Failed)
}

// neverStarted reports whether the run failed before anybody could buy.
func (d *drawn) neverStarted() bool { return d.t != nil && d.t.Failed != "" && d.t.Load.Len() == 0 }

// first tells of the first violation in the headline.
func (d *drawn) first() string {
	if d.t == nil {
		return ""
	}
	for _, v := range d.t.Violations {
		if v.Kind == timeline.TooMany {
			text := "; first at " + timeOf(v.At)
			if v.Short != "" {
				text += ": " + tidy(v.Short)
			}
			return text
		}
	}
	return ""
}

func withstoodWords(r result.Run) string {
	var parts []string
	if r.DoubleHolds > 0 {
		parts = append(parts, "two holders at once "+plural(r.DoubleHolds, "time"))
	}
	if r.FenceRefused > 0 {
		parts = append(parts, "the fence refused "+plural(r.FenceRefused, "write"))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, ", and ")
}

// notes say what to make of the verdict.
func (d *drawn) notes() []string {
	var notes []string
	r := d.r
	if d.judged() {
		notes = append(notes, "Gate: "+gateName(r.Gate)+". "+printable.Sentence(reason(r))+".")
	}
	if r.Simulated {
		notes = append(notes, "SIMULATED: this comes from an imitation of Redis inside the harness, not from a real server.")
	}
	if d.t != nil && d.t.Truncated {
		notes = append(notes, "The history ends in the middle of a line, as it does when the harness is killed: the page shows what was saved.")
	}
	return notes
}

func numbersOf(r result.Run) []numberView {
	of := func(n int, of string, name string, loud bool) numberView {
		return numberView{Name: name, Value: strconv.Itoa(n), Of: of, Loud: loud && n > 0}
	}
	return []numberView{
		of(r.Sold, fmt.Sprintf("of %d", r.Stock.Initial), "sold", r.Oversold > 0),
		of(r.Oversold, "", "too many", true),
		of(r.Stock.Left, "", "left", false),
		of(r.DoubleHolds, "times", "two holders at once", r.Verdict.Violation()),
		of(r.LostUpdates, "", "lost updates", true),
		of(r.FenceRefused, "", "refused by the fence", false),
		{Name: "took", Value: fmt.Sprintf("%.1f", float64(max(0, r.DurationMS))/1000), Of: "s"},
	}
}

// facts are the environment and the plan.
func (d *drawn) facts() []factView {
	r := d.r
	var facts []factView
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, factView{name, tidy(value)})
		}
	}
	add("scenario", r.Scenario)
	add("hazard", string(r.Hazard))
	add("lock", lockName(r))
	add("expected", string(r.Expected))
	add("server", strings.TrimSpace(r.Server+" on "+r.Backend))
	if r.TTLMS > 0 {
		add("TTL", millis(r.TTLMS).String())
	}
	if c := r.Calls; c.Count > 0 {
		add("business calls", fmt.Sprintf("%d; P50 %s, P99 %s, longest %s", c.Count, millis(c.P50MS), millis(c.P99MS), millis(c.MaxMS)))
	}
	if d.t != nil {
		p := d.t.Plan
		add("shape", p.Shape)
		add("instances and buyers", fmt.Sprintf("%d instances, %d buyers, %d purchases wanted", p.Instances, p.Buyers, p.Requests))
		add("inventory", strings.TrimSpace(p.Inventory+" "+p.InventoryServer))
		add("key", p.Key)
		add("fence", map[bool]string{true: "the inventory refuses stale writes", false: "none"}[p.Fenced])
		add("renewal", map[bool]string{true: "the lock renews its key", false: "none"}[p.Renews])
		add("retries", fmt.Sprintf("every %s on average", p.RetryEvery))
		if !p.Started.IsZero() {
			add("started", p.Started.UTC().Format(time.DateTime+" UTC"))
		}
		add("oversell", p.Version)
	}
	add("seed", strconv.FormatInt(r.Seed, 10))
	add("files", r.Dir)
	return facts
}

// steps are the planned faults and what came of each.
func (d *drawn) steps() []stepView {
	if d.t == nil {
		return nil
	}
	var steps []stepView
	for i, s := range d.t.Plan.Steps {
		v := stepView{N: i + 1, Fault: tidy(s.Fault), When: tidy(s.When)}
		n, failed := 0, ""
		for _, f := range d.t.Faults {
			switch {
			case f.Name == s.Fault && f.Failed:
				failed = f.Text
			case f.Name == s.Fault:
				n++
			}
		}
		switch {
		case n > 0:
			v.Became = "happened " + plural(n, "time")
		case failed != "":
			v.Became = "failed: " + tidy(failed)
		case s.Optional:
			v.Became = "didn’t come to it, as under some locks"
		default:
			v.Became = "never happened"
		}
		steps = append(steps, v)
	}
	return steps
}

// rawJSON is the result as JSON, safe to look at: what can't be printed is
// escaped, which JSON reads as the same.
func rawJSON(r result.Run) string {
	var buf bytes.Buffer
	if err := writeJSON(&buf, []result.Run{r}, Options{}); err != nil {
		return ""
	}
	var b strings.Builder
	for _, c := range strings.ToValidUTF8(buf.String(), "\ufffd") {
		switch {
		case c == '\n' || unicode.IsPrint(c):
			b.WriteRune(c)
		case c > 0xffff:
			hi, lo := utf16.EncodeRune(c)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	text := b.String()
	if len(text) > maxRaw {
		text = strings.ToValidUTF8(text[:maxRaw], "") + "\n... cut here; the whole of it is in result.json of " + printable.Line(r.Dir)
	}
	return text
}

// maxRaw bounds the raw result on the page, in bytes.
const maxRaw = 200_000
