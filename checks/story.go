package checks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oversell/oversell/history"
)

// maxLines keeps a story short enough to be read.
const maxLines = 8

// Explain tells in plain words what happened in a run: for a run that sold too
// much, the first unit too many in full and the others by cause; for one that
// stalled, who held the key and how that ended; for one that came out well,
// what the lock and the fence withstood, what outlived its purchase, and what
// the lock said that wasn't so. It has at most eight lines.
func (t *Timeline) Explain() []string {
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

// oversoldStory tells of units too many: the chain of the incident, when there
// was one, with a unit that came of it, else the first unit.
func (t *Timeline) oversoldStory(traces []Trace) []string {
	told := 0
	ms := traces[0].moments()
	if chain := t.chain(); chain != nil {
		if i := slices.IndexFunc(traces, chain.led); i >= 0 {
			told = i
		}
		ms = traces[told].moments()
		if chain.led(traces[told]) {
			ms = append(t.chainMoments(chain), ms...)
		}
	}
	if p := traces[told].Ungranted; p != nil {
		ms = append(ms, t.ungrantedMoment(p))
	}
	lines := inOrder(ms)
	if rest := slices.Delete(slices.Clone(traces), told, told+1); len(rest) > 0 {
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

// foreign is a grant whose key somebody else's release removed.
type foreign struct {
	*Grant
	in int // how many keys that happened to in all
}

// chain is the first key that a release of somebody else removed, by preference
// one that let a third holder in after the sender's own key had expired: the
// chain of the incident. It is nil when there was none.
func (t *Timeline) chain() *foreign {
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
		return nil
	}
	return &foreign{told, n}
}

// led reports whether the chain led to a unit too many.
func (f *foreign) led(tr Trace) bool {
	ps := []*Purchase{f.Loss.By, f.Purchase}
	if f.Next != nil {
		ps = append(ps, f.Next.Purchase)
	}
	ps = slices.DeleteFunc(ps, func(p *Purchase) bool { return p == nil })
	return slices.Contains(ps, tr.Commit.Purchase) && slices.Contains(ps, tr.Seller)
}

// chainMoments tell a chain: one key expired, the next one was granted and
// removed by the first holder's release, and a third holder entered.
func (t *Timeline) chainMoments(f *foreign) []moment {
	var ms []moment
	if byExpired(f.Grant) {
		l := Lost{Holder: f.Loss.By, Grant: f.Loss.By.Grant, KeyLoss: f.Loss.By.Grant.Loss}
		m := l.moment()
		m.text += Link{Fault: t.faultBehind(l)}.why(l)
		ms = append(ms, m)
	}
	ms = append(ms, moment{f.Event.At, fmt.Sprintf("%s was granted the key", f)})
	if f.Purchase != nil && f.Purchase.Hold.Decisive() == f.Grant {
		ms = append(ms, Lost{Holder: f.Purchase, Grant: f.Grant, KeyLoss: f.Loss}.moment())
	}
	if f.Next == nil {
		return ms
	}
	entered := fmt.Sprintf("%s was granted the key", f.Next)
	if letsIn(f.Grant) {
		entered += ": three holders of one key"
	}
	if f.in > 1 {
		entered += fmt.Sprintf(" (%d keys were removed by somebody else in all)", f.in)
	}
	return append(ms, moment{f.Next.Event.At, entered})
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
func (t *Timeline) stalledStory(stalls []standing) []string {
	var ms []moment
	for _, death := range t.deathsOfHolders() {
		if len(ms) < 2 {
			ms = append(ms, t.deathMoment(death))
		}
	}
	for _, s := range stalls {
		ms = append(ms, s.moment(t))
	}
	return append(inOrder(ms), t.sumWords())
}

// deathMoment tells of a holder's death.
func (t *Timeline) deathMoment(death *history.Event) moment {
	m := moment{death.At, fmt.Sprintf("the process of %s ended", instanceName(death.Instance))}
	for _, h := range t.Holds {
		if h.Instance() != death.Instance || !h.HeldAt(death.At) {
			continue
		}
		without := ""
		if _, expires := h.expiry(); !expires {
			without = " without an expiry"
		}
		m = moment{h.At(), fmt.Sprintf("%s was granted the key%s, and its process ended at %s", h.Grants[0], without, seconds(death.At))}
		break
	}
	for _, f := range t.Faults {
		if f.Instance == death.Instance && f.At >= death.At { // stamped when its act is over
			m.text += fmt.Sprintf(" (fault %s: %s)", f.Fault, f.Text)
			break
		}
	}
	return m
}

// withstoodStory tells what went wrong in a run and did no harm.
func (t *Timeline) withstoodStory() []string {
	var lines []string
	for i, death := range t.deathsOfHolders() {
		if i == 2 {
			break
		}
		m := t.deathMoment(death)
		if next := t.acquiredAfter(death); next != nil {
			m.text += fmt.Sprintf("; the next buyer acquired %s later", span(next.At-death.At))
		}
		lines = append(lines, m.String())
	}
	lines = append(lines, inOrder(slices.Concat(t.withstoodMoments(), t.dishonest()))...)
	return append(lines, t.sumWords())
}

// withstoodMoments tell of the first two holders at once, and of the first
// write that the fence refused.
func (t *Timeline) withstoodMoments() []moment {
	var ms []moment
	if holds := doubleHolds(t); len(holds) > 0 {
		ms = append(ms, holds[0].moment())
		for i, l := range losses(holds[0].First) {
			if i < 2 {
				m := l.moment()
				m.text += Link{Fault: t.faultBehind(l)}.why(l)
				ms = append(ms, m)
			}
		}
	}
	if refused := t.refused(); len(refused) > 0 {
		text := fmt.Sprintf("the fence refused the stale write of %s", refused[0])
		if n := len(refused); n > 1 {
			text += fmt.Sprintf(", the first of %d", n)
		}
		ms = append(ms, moment{refused[0].Commit.At, text})
	}
	return ms
}

// dishonest are the moments at which something outlived its purchase, or the
// lock said what wasn't so.
func (t *Timeline) dishonest() []moment {
	var ms []moment
	for _, l := range append(t.untruths(), leakedRenewals(t), leakedKey(t)) {
		if l != nil {
			ms = append(ms, l.moment)
		}
	}
	return ms
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
