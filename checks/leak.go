package checks

import (
	"fmt"
	"slices"
	"time"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// leak finds what outlives its purchase: renewals that go on when the purchase
// behind the key is over, and a key that never goes away although nobody holds it.
//
// A key that is left behind with a TTL is none: it falls by itself, and how
// long that may take is for progress to say. Nor is a renewal that was on its
// way when the release ended: a watchdog may need one more third of a TTL to
// notice. Whose a renewal is, is told by its value; one without a value counts
// only when its instance has no purchase under way at all.
func leak() Check {
	return check(Check{
		Name:     "leak",
		Summary:  "no renewal and no key outlives its purchase",
		Property: result.Leak,
	}, judgeLeak)
}

func judgeLeak(t *Timeline) []result.Finding {
	var fs []result.Finding
	for _, find := range []func(*Timeline) *tale{leakedRenewals, leakedKey} {
		if l := find(t); l != nil {
			fs = append(fs, l.finding(result.Leak, result.Leaked))
		}
	}
	return fs
}

// tale is something that a finding and a story tell alike.
type tale struct {
	moment
	events []int64
}

func (l *tale) finding(p result.Property, v result.Verdict) result.Finding {
	slices.Sort(l.events)
	return result.Finding{Property: p, Verdict: v, Text: "at " + seconds(l.at) + " " + l.text, Events: slices.Compact(l.events)}
}

// maxProof is how many events of a kind prove a finding that has many.
const maxProof = 20

// leakedRenewals looks for renewals of keys whose purchases are over.
func leakedRenewals(t *Timeline) *tale {
	if !t.tellsUnanswered() {
		return nil // nor when a command was sent
	}
	w := t.whose()
	var found []*history.Event
	var over time.Duration // when the first one's purchase was
	for _, e := range t.Events {
		if e.Kind != history.WireRenewed && e.Kind != history.WireExpire {
			continue
		}
		ended, known := w.ended(e)
		late := sentAt(e) - ended - t.Plan.TTL/3
		if !known || late <= 0 || late <= t.stood(e.Instance, ended, sentAt(e)) {
			continue
		}
		if len(found) == 0 {
			over = ended
		}
		found = append(found, e)
	}
	if len(found) == 0 {
		return nil
	}
	first := found[0]
	who, was := instanceName(first.Instance), "its last purchase was over at "+seconds(over)
	if h := w.holds[owned{first.Instance, first.Value}]; first.Value != "" && h != nil && h.Purchase != nil {
		who, was = h.Purchase.String(), "whose purchase was over at "+seconds(over)
	}
	effect := "in vain"
	if slices.ContainsFunc(found, func(e *history.Event) bool { return e.Done }) {
		effect = "and it took effect"
	}
	l := &tale{moment: moment{first.At, fmt.Sprintf("the key of %s, %s, was renewed, %s", who, was, effect)}}
	if len(found) > 1 {
		l.text += fmt.Sprintf("; %s in all, the last at %s", counted(len(found), "such renewal"), seconds(found[len(found)-1].At))
	}
	l.events = numbers(found[:min(len(found), maxProof)]...)
	return l
}

// stood is for how long an instance, or the wire before it, can't have done
// anything within a time.
func (t *Timeline) stood(instance int, from, until time.Duration) time.Duration {
	var sum time.Duration
	for _, e := range t.Events {
		if e.Kind == history.MachineStalled && (e.Instance == 0 || e.Instance == instance) {
			sum += max(0, min(e.At, until)-max(e.At-e.Took, from))
		}
	}
	return sum
}

// leakedKey looks for a key that is there when the load has come to its end,
// nobody holds it, and its time doesn't run.
func leakedKey(t *Timeline) *tale {
	if e := t.LoadEnded; e == nil || e.Phase == stalledPhase || e.Phase == interruptedPhase {
		return nil
	}
	w := t.whose()
	earlier := make(map[string]*history.Event)
	for _, e := range t.Events {
		if e.Kind != history.KeyState || e.Value == "" || e.Err != "" || !w.nobodys(e) {
			continue
		}
		if e.TTL == -1 {
			return &tale{events: numbers(e), moment: moment{e.At,
				fmt.Sprintf("the key was there on %s without an expiry, and nobody held it: it never goes away", e.Server)}}
		}
		before := earlier[e.Server]
		earlier[e.Server] = e
		if before == nil || before.Value != e.Value || before.TTL < 0 || e.TTL < 0 {
			continue
		}
		ran := time.Duration(before.TTL-e.TTL) * time.Millisecond
		if passed := e.At - before.At; ran < passed-t.Plan.TTL/10 {
			return &tale{events: numbers(before, e), moment: moment{e.At,
				fmt.Sprintf("the key on %s had %d ms to live, after %d ms at %s, and nobody held it: something renews it",
					e.Server, e.TTL, before.TTL, seconds(before.At))}}
		}
	}
	return nil
}
