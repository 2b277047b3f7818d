package main

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/remote"
	"github.com/oversell/oversell/internal/doctor"
	"github.com/oversell/oversell/internal/engine"
	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/result"
	"github.com/oversell/oversell/scenarios"
)

// plan is a command line that has been found good.
type plan struct {
	jobs    []engine.Job // Command is still empty: it names the backend
	own     []string     // names of the scenarios that are the user's own
	seed    int64
	outputs []output
	color   bool
	command string          // repeats the invocation; empty as long as there is no backend
	remote  *remote.Backend // nil: another backend

	baseline *baseline // nil: runs are compared with nothing
}

// shapes lists the arrangements of servers that the jobs ask for.
func (p plan) shapes() []cluster.Shape {
	var shapes []cluster.Shape
	for _, j := range p.jobs {
		if !slices.Contains(shapes, j.Scenario.Shape) {
			shapes = append(shapes, j.Scenario.Shape)
		}
	}
	return shapes
}

// plan checks everything that can be checked before a server is started.
func (a *app) plan(o *runOptions) (plan, error) {
	var p plan
	var err error
	if err := a.checkWords(o); err != nil {
		return p, err
	}
	if p.color, err = a.colors(o.Color); err != nil {
		return p, err
	}
	if p.remote, err = a.remote(o.Backend, &o.serverOptions); err != nil {
		return p, err
	}
	played, own, err := a.pickScenarios(o)
	if err != nil {
		return p, err
	}
	p.own = own
	kinds, err := a.pickKinds(o.Locks)
	if err != nil {
		return p, err
	}
	expect, err := a.expectations(o.Expect, kinds)
	if err != nil {
		return p, err
	}
	if p.outputs, err = a.modeOutputs(o); err != nil {
		return p, err
	}
	if err := checkPlaces(o.Dir, p.outputs); err != nil {
		return p, err
	}
	if p.baseline, err = o.baseline(); err != nil {
		return p, err
	}
	p.seed = rand.Int64()
	if o.Seed != nil {
		p.seed = *o.Seed
	}
	for _, s := range played {
		for _, k := range kinds {
			for _, v := range orOwn(o.Redis) {
				p.jobs = append(p.jobs, engine.Job{Scenario: s, Kind: k, Expect: expect[k.Name], Trials: o.Trials, Seed: p.seed, Redis: v})
			}
		}
	}
	return p, nil
}

// orOwn is the given versions, or the one that stands for the backend's own.
func orOwn(versions []string) []string {
	if len(versions) == 0 {
		return []string{""}
	}
	return versions
}

// modeOutputs reads --output as the mode of the run has it.
func (a *app) modeOutputs(o *runOptions) ([]output, error) {
	switch {
	case o.All:
		return outputsOf(o.Outputs, matrixFormats())
	case o.Sweep != "":
		return outputsOf(o.Outputs, sweepFormats())
	}
	return a.parseOutputs(o.Outputs)
}

// checkWords refuses values that are wrong whatever the scenario.
func (a *app) checkWords(o *runOptions) error {
	if !slices.Contains(a.backendNames(), o.Backend) {
		return unknown("backend", o.Backend, a.backendNames())
	}
	if err := o.checkMode(); err != nil {
		return err
	}
	for i, v := range o.Redis {
		if !slices.Contains(cluster.Versions(), v) {
			return unknown("value of --redis", v, cluster.Versions())
		}
		if slices.Contains(o.Redis[:i], v) {
			return usagef("--redis names %s twice", v)
		}
	}
	for _, f := range []struct {
		name  string
		value *int
	}{{"stock", o.Stock}, {"instances", o.Instances}, {"buyers", o.Buyers}, {"trials", &o.Trials}} {
		if f.value != nil && *f.value < 1 {
			return usagef("--%s must be at least 1, got %d", f.name, *f.value)
		}
	}
	if err := checkInventory(&o.serverOptions); err != nil {
		return err
	}
	if err := o.metricsOptions.check(); err != nil {
		return err
	}
	if o.TTL != nil && *o.TTL <= 0 {
		return usagef("--ttl must be more than 0, got %s", *o.TTL)
	}
	if o.TimeScale != nil && !(*o.TimeScale > 0 && *o.TimeScale <= mostScale) {
		return usagef("--time-scale must be more than 0 and at most %d, got %g", mostScale, *o.TimeScale)
	}
	if o.Dir == "" {
		return usagef("--dir must name a folder")
	}
	return nil
}

// mostScale bounds --time-scale, in either direction of reason.
const mostScale = 1000

// pickScenarios finds the named scenarios and reads the user's own, whose names
// it returns as well, and applies the load flags.
func (a *app) pickScenarios(o *runOptions) (picked []scenarios.Scenario, own []string, err error) {
	named := o.Scenarios
	switch {
	case len(named) > 0 || len(o.Files) > 0:
	case o.All:
		named = []string{everyScenario}
	default:
		named = []string{defaultScenario}
	}
	for _, name := range named {
		found := len(picked)
		for _, s := range a.scenarios {
			if name == s.Name || name == everyScenario {
				picked = append(picked, s)
			}
		}
		if len(picked) == found {
			return nil, nil, unknown("scenario", name, append(a.scenarioNames(), everyScenario))
		}
	}
	slices.SortStableFunc(picked, func(x, y scenarios.Scenario) int {
		return slices.Index(a.scenarioNames(), x.Name) - slices.Index(a.scenarioNames(), y.Name)
	})
	picked = slices.CompactFunc(picked, func(x, y scenarios.Scenario) bool { return x.Name == y.Name })
	for _, file := range o.Files {
		s, err := readScenario(file)
		if err != nil {
			return nil, nil, err
		}
		if slices.ContainsFunc(picked, func(p scenarios.Scenario) bool { return p.Name == s.Name }) {
			return nil, nil, hint.Wrap(usagef("two scenarios are called %s, one of them in %s", s.Name, file), "give yours a name of its own")
		}
		picked, own = append(picked, s), append(own, s.Name)
	}
	for i, s := range picked {
		picked[i] = withLoad(s, o)
		if err := checkLoad(picked[i], a.machine()); err != nil {
			return nil, nil, err
		}
	}
	return picked, own, nil
}

// withLoad applies the load flags that were given. Over a whole matrix they are
// bounds: a scenario that is made for a smaller crowd keeps it.
func withLoad(s scenarios.Scenario, o *runOptions) scenarios.Scenario {
	if o.TimeScale != nil {
		s = s.AtTimeScale(*o.TimeScale)
	}
	for _, f := range []struct {
		given *int
		field *int
	}{{o.Stock, &s.Load.Stock}, {o.Instances, &s.Load.Instances}, {o.Buyers, &s.Load.Buyers}} {
		switch {
		case f.given == nil:
		case o.All:
			*f.field = min(*f.field, *f.given)
		default:
			*f.field = *f.given
		}
	}
	if o.TTL != nil {
		s.Load = s.Load.WithTTL(*o.TTL)
	}
	return s
}

// checkLoad refuses a load that can't be played as it stands.
func checkLoad(s scenarios.Scenario, m doctor.Machine) error {
	l := s.Load
	if l.TTL < l.MinTTL {
		return hint.Wrap(usagef("--ttl %s is too short for %s: at least %s", l.TTL, s.Name, l.MinTTL),
			"below that a busy machine decides the outcome, not the lock")
	}
	if l.Requests > 0 && l.Requests <= l.Stock {
		return hint.Wrap(usagef("--stock %d is too much for %s: %d are wanted in all", l.Stock, s.Name, l.Requests),
			"with less demand than stock nothing can be oversold")
	}
	if l.Instances > l.Buyers {
		return hint.Wrap(usagef("--instances %d is more than --buyers %d", l.Instances, l.Buyers),
			"every instance needs at least one buyer")
	}
	if most, why := m.Carries(l.Buyers); l.Instances > most {
		if most == 0 {
			return hint.Wrap(usagef("--buyers %d is more than this machine can carry: %s", l.Buyers, why),
				"ask for fewer buyers, or raise the limit")
		}
		return hint.Wrap(usagef("--instances %d is more than this machine can carry: %s", l.Instances, why),
			"ask for at most %d instances with %d buyers", most, l.Buyers)
	}
	return nil
}

// pickKinds finds the named lock kinds, each once.
func (a *app) pickKinds(names []string) ([]locks.Kind, error) {
	var picked []locks.Kind
	for _, name := range names {
		k, err := a.findKind(name)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(picked, func(p locks.Kind) bool { return p.Name == k.Name }) {
			picked = append(picked, k)
		}
	}
	if len(picked) == 0 {
		return nil, hint.Wrap(usagef("--lock names no lock"), "choose from %s", strings.Join(a.lockNames(), ", "))
	}
	return picked, nil
}

// expectations reads --expect into expectations by the kind's name.
func (a *app) expectations(given []string, kinds []locks.Kind) (map[string]result.Expectation, error) {
	expect := map[string]result.Expectation{}
	for _, text := range given {
		name, word, ok := strings.Cut(text, "=")
		if !ok {
			return nil, hint.Wrap(usagef("--expect %q is not LOCK=VERDICT", text), "for example --expect naive=oversold")
		}
		k, err := a.findKind(name)
		if err != nil {
			return nil, err
		}
		e, ok := result.ParseExpectation(word)
		if !ok {
			return nil, unknown("verdict", word, result.Expectations())
		}
		if !slices.ContainsFunc(kinds, func(p locks.Kind) bool { return p.Name == k.Name }) {
			return nil, hint.Wrap(usagef("--expect names the lock %q, which isn't run", name), "add it to --lock")
		}
		if was, twice := expect[k.Name]; twice && was != e {
			return nil, usagef("--expect says both %s and %s of the lock %s", was, e, k.Name)
		}
		expect[k.Name] = e
	}
	return expect, nil
}
