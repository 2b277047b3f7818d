package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/oversell/oversell/internal/engine"
	"github.com/oversell/oversell/internal/sweep"
	"github.com/oversell/oversell/reports"
	"github.com/oversell/oversell/result"
)

// sweepTrials is how often each value is played unless --trials says it.
const sweepTrials = 3

// sweepFormats are the formats of a sweep; they have no Write, because they are
// not about runs.
func sweepFormats() []reports.Format {
	return []reports.Format{
		{Name: "text", Ext: "txt", Summary: "a table with bars, the threshold, and what to make of it"},
		{Name: "json", Ext: "json", Summary: "one document (" + sweep.Schema + ")"},
		{Name: "csv", Ext: "csv", Summary: "a row for each value"},
	}
}

func writeSweep(r sweep.Report) func(output, io.Writer, reports.Options) error {
	return func(o output, w io.Writer, _ reports.Options) error {
		switch o.format.Name {
		case "json":
			return r.JSON(w)
		case "csv":
			return r.CSV(w)
		}
		return r.Text(w)
	}
}

// runSweep is `oversell run --sweep`: play every value, draw the curves, find
// the thresholds.
func (a *app) runSweep(ctx context.Context, o *runOptions) error {
	if !o.has("trials") {
		o.Trials = sweepTrials
	}
	p, err := a.plan(o)
	if err != nil {
		return err
	}
	s, err := sweep.Parse(o.Sweep)
	if err != nil {
		return usagef("--sweep: %w", err)
	}
	steps, err := a.sweepJobs(s, p.jobs)
	if err != nil {
		return err
	}
	backend, err := a.begin(ctx, o, &p)
	if err != nil {
		return err
	}
	dir, err := engine.NewDir(o.Dir, "sweep-"+s.Parameter.Name, time.Now())
	if err != nil {
		return environment(err)
	}
	r := sweep.Report{
		Schema: sweep.Schema, Parameter: s.Parameter.Name, Trials: o.Trials, Backend: backend.Name(),
		Seed: p.seed, Curves: []sweep.Curve{}, Dir: filepath.ToSlash(dir), Command: p.command,
	}
	if !s.Parameter.Counts {
		r.Unit = "ms"
	}
	err = a.withEngine(ctx, o, backend, dir, "sweep", func(eng player) error {
		return a.playSweep(ctx, eng, s, steps, &r)
	})
	stays, err := splitStays(err)
	if err != nil {
		a.notes.say("kept: %s", r.Dir)
		return orInterrupted(ctx, err)
	}
	if len(r.Curves) == 0 {
		return a.endWith(stays, nothingPlayed(backend))
	}
	return a.endWith(stays, a.reportSweep(o, p, r))
}

// sweepStep is one curve to play.
type sweepStep struct {
	job  engine.Job   // as the scenario has it
	jobs []engine.Job // for each value
}

// sweepJobs puts every value into every job.
func (a *app) sweepJobs(s sweep.Sweep, jobs []engine.Job) ([]sweepStep, error) {
	var steps []sweepStep
	for _, j := range jobs {
		step := sweepStep{job: j}
		for _, v := range s.Values {
			swept, err := s.Parameter.Put(j.Scenario, v)
			if err != nil {
				return nil, usagef("--sweep %s: %w", s.Parameter.Name, err)
			}
			if err := checkLoad(swept, a.machine()); err != nil {
				return nil, fmt.Errorf("--sweep %s: %w", s.Parameter.Name, err)
			}
			at := j
			at.Scenario, at.Trials = swept, 1
			step.jobs = append(step.jobs, at)
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// playSweep plays curve after curve, and what can't be played not at all.
func (a *app) playSweep(ctx context.Context, eng player, s sweep.Sweep, steps []sweepStep, r *sweep.Report) error {
	for n, step := range steps {
		j := step.job
		c := sweep.Curve{
			Scenario: j.Scenario.Name, Hazard: j.Scenario.Hazard, Lock: j.Kind.Name, Alias: j.Kind.Alias,
			Claims: j.Kind.Survives(j.Scenario.Hazard),
		}
		var broke *result.Run // with the safest value of those that oversell
		for i, at := range step.jobs {
			word := fmt.Sprintf("%s %s", s.Parameter.Name, s.Parameter.Word(s.Values[i]))
			a.notes.tell(fmt.Sprintf("[%d/%d] %s", n*len(s.Values)+i+1, len(steps)*len(s.Values), word))
			trials, err := playTrials(ctx, eng, at, r.Trials)
			if errors.Is(err, engine.ErrUnavailable) {
				a.notes.say("skipped %s under %s: %v", j.Scenario.Name, j.Kind.Name, err)
				break
			}
			if err != nil {
				return jobError(at, err)
			}
			point := s.NewPoint(s.Values[i], trials)
			c.Server, r.Simulated = trials[0].Server, r.Simulated || trials[0].Simulated
			c.Points = append(c.Points, point)
			a.notes.say("%s  %s  %s  oversold in %d of %d trials", c.Scenario, c.Lock, word, point.Oversold, point.Conclusive())
			if k := slices.IndexFunc(trials, func(t result.Run) bool { return t.Oversold > 0 }); k >= 0 && (broke == nil || s.Parameter.SafeAbove) {
				broke = &trials[k]
			}
		}
		if len(c.Points) == 0 {
			continue
		}
		c.Threshold = s.FindThreshold(c.Points)
		if broke != nil {
			c.Advice = reports.Advice(*broke)
		}
		r.Curves = append(r.Curves, c)
	}
	return nil
}

// playTrials plays a job several times and returns every one.
func playTrials(ctx context.Context, eng player, j engine.Job, trials int) ([]result.Run, error) {
	var runs []result.Run
	for i := range trials {
		one := j
		one.Seed += int64(i)
		r, err := eng.Run(ctx, one)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// summarizeSweep appends the curves to the summary of the job.
func (a *app) summarizeSweep(r sweep.Report) {
	a.summarize(func(w io.Writer, room int) error {
		var text strings.Builder
		if err := r.Text(&text); err != nil {
			return err
		}
		return folded("sweep of "+r.Parameter, text.String())(w, room)
	})
}

// reportSweep saves the curves and shows them.
func (a *app) reportSweep(o *runOptions, p plan, r sweep.Report) error {
	r.Gate = sweep.Judge(r.Curves)
	if r.Simulated && !o.AllowSimulated && r.Gate == result.Pass {
		r.Gate = result.GateUnresolved
	}
	saved := errors.Join(
		writeFile(filepath.Join(r.Dir, "sweep.json"), r.JSON),
		writeFile(filepath.Join(r.Dir, "sweep.csv"), r.CSV),
	)
	err := errors.Join(environment(saved), a.writeOutputs(p.outputs, p.color, writeSweep(r)))
	a.summarizeSweep(r)
	if err != nil {
		return err
	}
	return exitWith(gateCode(r.Gate))
}
