package engine

import (
	"fmt"
	"strings"
	"time"

	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/scenarios"
)

// minSold is how many orders a run needs to prove anything.
const minSold = 5

// keyPrefix begins the lock's key on servers that are all ours.
const keyPrefix = "oversell:"

// lockKey is the rest of it.
func lockKey(scenario string) string { return "lock:" + scenario }

// keyOf is the lock's key as the kind has it on the server.
func keyOf(k locks.Kind, prefix, scenario string) string {
	key := prefix + lockKey(scenario)
	if k.KeyForm != nil {
		return k.KeyForm(key)
	}
	return key
}

// newPlan writes down what a trial is going to do.
func (e *Engine) newPlan(j Job, trial int) history.Plan {
	s, l := j.Scenario, j.Scenario.Load
	seed := j.Seed + int64(trial-1)
	return history.Plan{
		Schema: history.PlanSchema, Scenario: s.Name, Hazard: string(s.Hazard),
		Lock: j.Kind.Name, Alias: j.Kind.Alias, Backend: e.cfg.Backend.Name(), Shape: string(s.Shape),
		Redis: e.version(j), Inventory: e.cfg.driver(), Fenced: j.Kind.Fenced, Renews: j.Kind.Renews,
		Stock: l.Stock, Instances: l.Instances, Buyers: l.Buyers, Requests: l.Wanted(),
		TTL: l.TTL, Call: l.Call, RetryEvery: l.RetryEvery, StallAfter: l.StallAfter,
		MinSold: min(minSold, l.Stock), ClientRetries: l.ClientRetries,
		Key: keyOf(j.Kind, keyPrefix, s.Name), SKU: sku(j, seed, trial),
		Seed: seed, Trial: trial, Steps: planSteps(s.Steps), Started: time.Now().UTC(),
		Expected: string(j.expected()), Command: j.Command, Version: e.cfg.Version,
	}
}

// sku names the article of one trial: no other trial of the invocation sells it.
func sku(j Job, seed int64, trial int) string {
	name := fmt.Sprintf("%s-%s-%d-%d", j.Scenario.Name, j.Kind.Name, seed, trial)
	if j.Redis != "" {
		name += "-" + j.Redis
	}
	return name
}

func planSteps(steps []faults.Step) []history.Step {
	out := make([]history.Step, len(steps))
	for i, s := range steps {
		out[i] = history.Step{Fault: s.Do.Name(), When: s.When.String(), Optional: s.Optional}
	}
	return out
}

// wants deals the wanted units to the buyers, and the buyers to the instances
// like cards, so that no instance has two more than another.
func wants(l scenarios.Load) [][]int {
	out := make([][]int, l.Instances)
	total := l.Wanted()
	for b := range l.Buyers {
		n := total / l.Buyers
		if b < total%l.Buyers {
			n++
		}
		if n > 0 {
			out[b%l.Instances] = append(out[b%l.Instances], n)
		}
	}
	return out
}

// firstLine cuts an error's text to what fits in a sentence.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
