package checks

import (
	"fmt"
	"slices"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// assumptions asks whether the run is worth judging at all. Whatever is
// missing makes it inconclusive. Where it also takes the ground from under the
// other findings, the finding voids them: a history with holes, a fault that
// left no proof, sick or silent servers, an instance that broke down by itself, a machine
// that stood still and may be to blame itself, or one on which purchases took
// longer than the TTL by themselves. Too few orders and one failed repetition of
// a proven fault don't: a lock that sold 3 units and then stalled for ever has
// stalled.
func assumptions() Check {
	return check(Check{
		Name:     "assumptions",
		Summary:  "the run is whole, its faults are proven, its servers and this machine were well",
		Property: result.Assumptions,
	}, (*Timeline).assumptions)
}

// assumptions are about runs of the harness. A shop's own log has no such frame.
func (t *Timeline) assumptions() []result.Finding {
	if t.Plan.Observed {
		return nil
	}
	var fs []result.Finding
	for _, judge := range []func(*Timeline) []result.Finding{
		whole, playedOut, faultsProven, faultsFailed, serversHealthy, instancesStayed, machineRan, serversAnswered, serversInTime, shopInTime, enoughSold,
	} {
		fs = append(fs, judge(t)...)
	}
	return fs
}

// doubt is a reason to conclude nothing.
func doubt(voids bool, events []int64, format string, args ...any) result.Finding {
	if events == nil {
		events = []int64{}
	}
	return result.Finding{
		Property: result.Assumptions,
		Verdict:  result.Inconclusive,
		Text:     fmt.Sprintf(format, args...),
		Events:   events,
		Voids:    voids,
	}
}

// whole looks for the events that frame a run, and for holes in its numbers.
func whole(t *Timeline) []result.Finding {
	seen := make(map[history.Kind]bool)
	var top int64
	for _, e := range t.Events {
		seen[e.Kind] = true
		top = max(top, e.N)
	}
	var missing []string
	for _, k := range []history.Kind{history.RunStarted, history.LoadStarted, history.LoadEnded, history.RunEnded} {
		if !seen[k] {
			missing = append(missing, string(k))
		}
	}
	var fs []result.Finding
	if len(missing) > 0 {
		fs = append(fs, doubt(true, nil, "the history isn't whole: it has no %s", listed(missing, len(missing))))
	}
	if holes := top - int64(len(t.Events)); holes != 0 {
		fs = append(fs, doubt(true, nil, "the history has %d events, and their numbers go up to %d", len(t.Events), top))
	}
	return fs
}

// interruptedPhase is the phase of a load.ended that somebody cut short.
const interruptedPhase = "interrupted"

// playedOut wants a load that came to an end by itself. What was sold too much
// until then is sold, so the other findings stand.
func playedOut(t *Timeline) []result.Finding {
	if e := t.LoadEnded; e != nil && e.Phase == interruptedPhase {
		return []result.Finding{doubt(false, []int64{e.N}, "the load was cut short at %s: %s", seconds(e.At), e.Text)}
	}
	return nil
}

// faultsProven wants a proof of every step that isn't optional, and of every
// other whose moment came.
func faultsProven(t *Timeline) []result.Finding {
	due := make(map[int]*history.Event)
	for _, e := range t.Due {
		if due[e.Step] == nil {
			due[e.Step] = e
		}
	}
	proven := make(map[int]bool)
	for _, e := range t.Faults {
		if e.Text != "" {
			proven[e.Step] = true
		}
	}
	var fs []result.Finding
	for i, s := range t.Plan.Steps {
		if proven[i+1] {
			continue
		}
		switch first := due[i+1]; {
		case first != nil:
			fs = append(fs, doubt(true, []int64{first.N}, "step %d (%s, %s) was due at %s and left no evidence that it happened",
				i+1, s.Fault, s.When, seconds(first.At)))
		case !s.Optional:
			fs = append(fs, doubt(true, nil, "step %d (%s, %s) left no evidence that it happened", i+1, s.Fault, s.When))
		}
	}
	return fs
}

func faultsFailed(t *Timeline) []result.Finding {
	var fs []result.Finding
	for _, e := range t.Events {
		if e.Kind == history.FaultFailed {
			fs = append(fs, doubt(false, []int64{e.N}, "step %d (%s) failed at %s: %s", e.Step, e.Fault, seconds(e.At), e.Err))
		}
	}
	return fs
}

// serversHealthy wants every server healthy before the load and after it, also
// those that a fault had killed: they were healed by then.
func serversHealthy(t *Timeline) []result.Finding {
	looks := map[string]map[string]*history.Event{"before": {}, "after": {}}
	for _, e := range t.Events {
		if servers := looks[e.Phase]; e.Kind == history.ServerHealth && servers != nil {
			servers[e.Server] = e // the last look counts
		}
	}
	var fs []result.Finding
	for _, phase := range []string{"before", "after"} {
		if len(looks[phase]) == 0 {
			fs = append(fs, doubt(true, nil, "nobody looked at the servers' health %s the load", phase))
		}
		for _, server := range sortedKeys(looks[phase]) {
			if e := looks[phase][server]; !e.Done {
				fs = append(fs, doubt(true, []int64{e.N}, "server %s wasn't healthy %s the load: %s", server, phase, e.Text))
			}
		}
	}
	if len(looks["after"]) == 0 {
		return fs
	}
	for _, server := range sortedKeys(looks["before"]) {
		if looks["after"][server] == nil {
			fs = append(fs, doubt(true, []int64{looks["before"][server].N}, "nobody looked at the health of server %s after the load", server))
		}
	}
	return fs
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// instancesStayed wants no instance to end by itself.
func instancesStayed(t *Timeline) []result.Finding {
	var fs []result.Finding
	for _, e := range t.Events {
		if e.Kind == history.InstanceExited && e.Err != "" {
			fs = append(fs, doubt(true, []int64{e.N}, "%s ended unplanned at %s: %s", instanceName(e.Instance), seconds(e.At), e.Err))
		}
	}
	return fs
}

// shopInTime wants a lock that doesn't renew to fail for no other reason than
// the faults. On a machine that is too busy a purchase takes longer than the
// TTL by itself, and sells a unit too many that nobody planned. When all units
// too many came of that, they say nothing about the lock.
func shopInTime(t *Timeline) []result.Finding {
	if t.Plan.Renews || t.Plan.TTL <= 0 || 3*t.Plan.Call >= t.Plan.TTL {
		return nil // an ordinary call may last one and a half of the plan's
	}
	var first *Lost
	traces := t.traces()
	for _, tr := range traces {
		if len(tr.Losses) == 0 || tr.Fault != nil {
			return nil
		}
		root := tr.Losses[len(tr.Losses)-1]
		if root.Cause != Expired || root.Server != "" || root.Holder.Until-root.Grant.Event.At <= t.Plan.TTL {
			return nil
		}
		if first == nil {
			first = &root
		}
	}
	if first == nil {
		return nil
	}
	return []result.Finding{doubt(true, numbers(first.Grant.Event, first.Holder.Answer, first.Holder.ReleaseStart),
		"this machine was too slow: %s needed %s from the grant of the key to the end of its purchase, without any fault, and the TTL is %s",
		first.Holder, span(first.Holder.Until-first.Grant.Event.At), span(t.Plan.TTL))}
}

// enoughSold wants enough orders to prove something.
func enoughSold(t *Timeline) []result.Finding {
	if t.Sold() >= t.Plan.MinSold {
		return nil
	}
	return []result.Finding{doubt(false, nil, "only %s: fewer than %d prove nothing", counted(t.Sold(), "order"), t.Plan.MinSold)}
}
