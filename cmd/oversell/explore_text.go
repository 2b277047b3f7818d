package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/oversell/oversell/internal/explore"
)

// explorationText is what an exploration has come to, for a person.
func (a *app) explorationText(x exploration) string {
	var b strings.Builder
	name := x.c.Kind.Name
	if x.c.Kind.Alias != "" {
		name += " (" + x.c.Kind.Alias + ")"
	}
	fmt.Fprintf(&b, "%s: %s\n", name, caseText(x.c))
	if x.not != nil {
		fmt.Fprintf(&b, "not explored: %v\n", x.not)
		return b.String()
	}
	r := x.report
	b.WriteString(ending(r) + "\n")
	for i, found := range r.Found {
		if i == 0 {
			b.WriteString("\n" + counterexampleText(found) + "\n")
		}
		b.WriteString(foundLine(x, found) + "\n")
	}
	b.WriteString(a.effort(x))
	return b.String()
}

// caseText names hazards and bounds.
func caseText(c explore.Case) string {
	var hazards []string
	for _, h := range c.Hazards {
		hazards = append(hazards, h.String())
	}
	if len(hazards) == 0 {
		hazards = []string{"none"}
	}
	on := ""
	if c.Masters > 0 {
		on = fmt.Sprintf("%d masters, ", c.Masters)
	}
	text := fmt.Sprintf("%d buyers, %sstock %d, TTL %s; hazards: %s", c.Buyers, on, c.Stock, c.TTL, strings.Join(hazards, ", "))
	if c.Faults > 0 {
		text += fmt.Sprintf("; at most %d of them in one schedule", c.Faults)
	}
	switch {
	case c.Preemptions == 1:
		text += "; at most 1 preemption"
	case c.Preemptions >= 0:
		text += fmt.Sprintf("; at most %d preemptions", c.Preemptions)
	}
	return text
}

// ending is the one line that counts.
func ending(r *explore.Report) string {
	if r.Complete {
		if n := r.Counts.Oversold; n > 0 {
			return fmt.Sprintf("%s of %s schedules oversell%s", many(n), many(r.Counts.All), others(r))
		}
		return fmt.Sprintf("all %s schedules under these hazards and bounds: none oversells%s", many(r.Counts.All), others(r))
	}
	covered := fmt.Sprintf("%s states found, %s of their events not followed", many(r.States), many(r.Open))
	if s := r.Sampled; s != nil {
		covered += fmt.Sprintf("; %s schedules drawn by %s, with %s different ends", many(s.Runs), s.Strategy, many(s.Distinct))
		if s.Strategy == explore.PCT && s.Runs > 0 {
			covered += fmt.Sprintf(": a mistake that takes %d orderings is met by each with a probability of at least %.2g, by all of them of %.2g",
				s.Depth, s.Bound, s.Chance())
		}
	}
	text := fmt.Sprintf("%s after %s schedules; covered: %s", r.Why, many(r.Runs), covered)
	if r.Broke(explore.Oversold) != nil {
		text += "; some oversell"
	} else {
		text += "; none of these oversells"
	}
	return text
}

// others counts what else schedules broke.
func others(r *explore.Report) string {
	var parts []string
	for _, p := range explore.Properties() {
		if n := r.Counts.Of(p); n > 0 && p != explore.Oversold {
			parts = append(parts, fmt.Sprintf("%s in %s", p, many(n)))
		}
	}
	if r.Counts.Cut > 0 {
		parts = append(parts, fmt.Sprintf("not followed to their end %s", many(r.Counts.Cut)))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, ", ")
}

// many writes a count with thousands separators, and "about" where it isn't exact.
func many[N int | int32 | int64 | float64](n N) string {
	if float64(n) >= 1<<53 {
		return fmt.Sprintf("about %.3g", float64(n))
	}
	digits := fmt.Sprintf("%.0f", float64(n))
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func foundLine(x exploration, found *explore.Counterexample) string {
	how := "the shortest"
	if !found.Shortest {
		how = "no event of it can be left out"
	}
	return fmt.Sprintf("%s in %d events, %s: %s", found.Property, len(found.Steps), how, x.files[string(found.Property)])
}

// effort says what the exploration has cost.
func (a *app) effort(x exploration) string {
	r := x.report
	s := max(r.Wall.Seconds(), 1e-3)
	text := fmt.Sprintf("%s schedules played, %s events, in %s: %s schedules/s, %s events/s\n",
		many(r.Runs), many(r.Events), r.Wall.Round(10*time.Millisecond), many(float64(r.Runs)/s), many(float64(r.Events)/s))
	if r.Complete && r.Runs > 0 {
		text += fmt.Sprintf("reduction: %s schedules by %s, through %s states; %s events followed from others\n",
			many(r.Counts.All), many(r.Runs), many(r.States), many(r.Inferred))
	}
	if r.FirstBad > 0 {
		text += fmt.Sprintf("the first to oversell was number %s%s\n", many(r.FirstBad), after(r.FirstIn))
	}
	if r.Strays > 0 {
		text += fmt.Sprintf("note: in %s of the schedules played the lock went another way than before, and as before when they were played again%s. "+
			"Its own goroutines may race; what that leads to isn't explored\n", many(r.Strays), example(r.Strayed))
	}
	if r.LeavesOn {
		text += "note: the lock leaves goroutines behind that still send commands after Close\n"
	}
	if path := x.files[string(firstFound(r))]; path != "" {
		text += fmt.Sprintf("play it on a real server: %s replay %s\n", a.program, shellQuote(path))
	}
	if x.resume != "" {
		text += fmt.Sprintf("go on: the same flags and --resume %s\n", shellQuote(x.resume))
	}
	return text
}

// example tells of one of the schedules in which the lock went another way, when it
// is known: it isn't after --resume.
func example(e *explore.NondeterminismError) string {
	switch {
	case e == nil:
		return ""
	case e.Before == "":
		return fmt.Sprintf(", such as %s, where there was %s", e.Where, e.Now)
	}
	return fmt.Sprintf(", such as %s, where there was %s instead of %s", e.Where, e.Now, e.Before)
}

// after tells a duration, when it is known.
func after(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf(", after %s", d.Round(time.Millisecond))
}

func firstFound(r *explore.Report) explore.Property {
	if len(r.Found) == 0 {
		return ""
	}
	return r.Found[0].Property
}

// counterexampleText is the table of a schedule and its tale.
func counterexampleText(x *explore.Counterexample) string {
	header := []string{"#"}
	for n := range x.Case.Buyers {
		header = append(header, "buyer "+string(rune('A'+n)))
	}
	header = append(header, "key", "stock", "orders")
	t := table{header: header}
	for i, st := range x.Steps {
		row := make([]string, len(header))
		row[0] = fmt.Sprint(i + 1)
		at := slices.Index(header, "buyer "+st.Buyer)
		if at < 0 {
			at = 1
			st.Text = "(" + st.Text + ")"
		}
		row[at] = st.Text
		k := len(header) - 3
		row[k], row[k+1], row[k+2] = st.Key, fmt.Sprint(st.Stock), fmt.Sprint(st.Orders)
		t.rows = append(t.rows, row)
	}
	var b strings.Builder
	t.text(&b)
	b.WriteString("\n")
	b.WriteString(strings.Join(x.Tale, "\n") + "\n")
	return b.String()
}

// writeExplorations writes the formats that aren't written as it goes.
func (a *app) writeExplorations(o *exploreOptions, done []exploration) error {
	switch o.format() {
	case "html":
		return a.writeExplorationPage(o, done)
	case "json":
		return writeJSON(a.out, explorationDocument(done))
	case "markdown":
		var b strings.Builder
		for _, x := range done {
			b.WriteString("```\n" + a.explorationText(x) + "```\n\n")
		}
		_, err := io.WriteString(a.out, strings.TrimRight(b.String(), "\n")+"\n")
		return err
	}
	return nil
}
