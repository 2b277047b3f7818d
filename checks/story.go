package checks

import (
	"fmt"
	"strings"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// maxLines keeps a story short enough to be read.
const maxLines = 8

// Explain tells in plain words what happened in a run: for a run that sold too
// much, the first unit too many in full and the others by cause; for one that
// stalled, who held the key and how that ended; for one that came out well,
// what the lock and the fence withstood. It has at most eight lines.
func Explain(h history.History) []string {
	t := Reconstruct(h)
	lines := t.doubts()
	traces, stalls := t.traces(), t.stalls()
	switch {
	case len(traces) > 0:
		lines = append(lines, t.oversoldStory(traces)...)
	case len(stalls) > 0:
		lines = append(lines, t.stalledStory(stalls)...)
	default:
		lines = append(lines, t.withstoodStory()...)
	}
	return lines[:min(len(lines), maxLines)]
}

// doubts come first: whoever reads the rest must know that it proves nothing.
func (t *Timeline) doubts() []string {
	var reasons []string
	for _, f := range t.assumptions() {
		if f.Voids {
			reasons = append(reasons, f.Text)
		}
	}
	if len(reasons) == 0 {
		return nil
	}
	return []string{"nothing can be concluded from this run: " + listed(reasons, 2)}
}

// oversoldStory tells of units too many.
func (t *Timeline) oversoldStory(traces []Trace) []string {
	lines := traces[0].Lines()
	if line := t.foreignStory(); line != "" {
		lines = append(lines, line)
	}
	if rest := traces[1:]; len(rest) > 0 {
		lines = append(lines, fmt.Sprintf("and %s in the same way%s", counted(len(rest), "more unit"), byCause(rest)))
	}
	return lines
}

// byCause counts units by why the first holder had lost its key.
func byCause(traces []Trace) string {
	count := make(map[Cause]int)
	var order []Cause
	for _, tr := range traces {
		c := tr.Cause()
		if count[c] == 0 {
			order = append(order, c)
		}
		count[c]++
	}
	if len(order) == 1 {
		return ", " + causeWords(order[0])
	}
	var parts []string
	for _, c := range order {
		parts = append(parts, fmt.Sprintf("%d %s", count[c], causeWords(c)))
	}
	return ": " + strings.Join(parts, ", ")
}

// foreignStory tells of the first release that removed somebody else's key,
// by preference one that let a third holder in after the sender's own key had
// expired: the chain of the incident.
func (t *Timeline) foreignStory() string {
	var told *Grant
	best, n := 0, 0
	for _, g := range t.Grants {
		if !g.Foreign() {
			continue
		}
		n++
		worth := 1
		if letsIn(g) {
			worth += 2
		}
		if byExpired(g) {
			worth++
		}
		if worth > best {
			told, best = g, worth
		}
	}
	if told == nil {
		return ""
	}
	loss := told.Loss
	text := ""
	if byExpired(told) {
		text = fmt.Sprintf("the key of %s expired at %s, ", loss.By, seconds(loss.By.Grant.Loss.At))
	}
	text += fmt.Sprintf("%s acquired at %s, the %s of %s removed that key at %s", told, seconds(told.Event.At),
		loss.command(), loss.deleter(), seconds(loss.Event.At))
	if told.Next != nil {
		text += fmt.Sprintf(", and %s entered at %s", told.Next, seconds(told.Next.Event.At))
	}
	if letsIn(told) {
		text += ": three holders of one key"
	}
	if n > 1 {
		text += fmt.Sprintf(" (%d keys were removed by somebody else in all)", n)
	}
	return text
}

// byExpired reports whether whoever removed g's key had lost its own by expiry.
func byExpired(g *Grant) bool {
	by := g.Loss.By
	return by != nil && by.Grant != nil && by.Grant.Loss.Cause == Expired
}

// letsIn reports whether the foreign release of g's key let a third holder in:
// its sender and g's holder had been inside together, and so were g's holder
// and whoever came next.
func letsIn(g *Grant) bool {
	if g.Next == nil {
		return false
	}
	_, before := overlapOf(g.Loss.By, g.Purchase)
	_, after := overlapOf(g.Purchase, g.Next.Purchase)
	return before && after
}

// stalledStory tells who held the key, how that ended, and what was left.
func (t *Timeline) stalledStory(findings []result.Finding) []string {
	var lines []string
	for _, death := range t.deathsOfHolders() {
		if len(lines) < 2 {
			lines = append(lines, t.deathWords(death))
		}
	}
	for _, f := range findings {
		lines = append(lines, f.Text)
	}
	return append(lines, t.sumWords())
}

// deathWords tell of a holder's death.
func (t *Timeline) deathWords(death *history.Event) string {
	text := instanceName(death.Instance)
	for _, g := range t.Grants {
		if g.Instance() == death.Instance && g.HeldAt(death.At) {
			text = fmt.Sprintf("%s was granted the key at %s", g, seconds(g.Event.At))
			if !g.Expires {
				text += " without an expiry"
			}
			break
		}
	}
	text += fmt.Sprintf(", and its process ended at %s", seconds(death.At))
	for _, f := range t.Faults {
		if f.Instance == death.Instance {
			return fmt.Sprintf("%s (fault %s: %s)", text, f.Fault, f.Text)
		}
	}
	return text
}

// withstoodStory tells what went wrong in a run and did no harm.
func (t *Timeline) withstoodStory() []string {
	var lines []string
	for i, death := range t.deathsOfHolders() {
		if i == 2 {
			break
		}
		line := t.deathWords(death)
		if next := t.acquiredAfter(death); next != nil {
			line += fmt.Sprintf("; the next buyer acquired %s later", span(next.At-death.At))
		}
		lines = append(lines, line)
	}
	if holds := doubleHolds(t); len(holds) > 0 {
		lines = append(lines, holds[0].String())
		for i, l := range losses(holds[0].First) {
			if i < 2 {
				lines = append(lines, l.words()+Link{Fault: t.faultBehind(l)}.why(l))
			}
		}
	}
	if refused := t.refused(); len(refused) > 0 {
		lines = append(lines, fmt.Sprintf("the fence refused %s: the first was of %s at %s",
			counted(len(refused), "stale write"), refused[0], seconds(refused[0].Commit.At)))
	}
	return append(lines, t.sumWords())
}

func (t *Timeline) sumWords() string {
	text := fmt.Sprintf("%d sold and %d left of %d", t.Sold(), t.Left(), t.Plan.Stock)
	switch over := t.Sold() + t.Left() - t.Plan.Stock; {
	case t.Counted == nil:
		return text + ", as far as the history goes"
	case over > 0:
		return fmt.Sprintf("%s: %d too many", text, over)
	case over < 0:
		return fmt.Sprintf("%s: %d missing", text, -over)
	default:
		return text + ": none too many"
	}
}

// acquiredAfter is the first acquisition after a holder's death, or nil.
func (t *Timeline) acquiredAfter(death *history.Event) *history.Event {
	for _, e := range t.Events {
		if e.Kind == history.Acquired && e.At > death.At {
			return e
		}
	}
	return nil
}
