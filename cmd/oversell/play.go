package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/internal/engine"
	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/reports"
	"github.com/oversell/oversell/result"
)

// removal is how long removing what a run has started may take.
const removal = 5 * time.Second

// player is the part of the engine that the command line uses.
type player interface {
	Available(j engine.Job) error
	Run(ctx context.Context, j engine.Job) (result.Run, error)
	Close(ctx context.Context) error
}

// newEngine makes the player of one invocation.
type newEngine func(engine.Config) player

// run is `oversell run`: check, choose a backend, play, report.
func (a *app) run(ctx context.Context, o *runOptions) error {
	p, err := a.plan(o)
	if err != nil {
		return err
	}
	chosen, err := a.choose(ctx, o, p.shapes())
	if err != nil {
		return orInterrupted(ctx, err)
	}
	a.notes.say("backend %s: %s", chosen.backend.Name(), chosen.why)
	a.notes.say("seed %d", p.seed)
	for i := range p.jobs {
		p.jobs[i].Command = a.command(o, p, chosen.backend.Name())
	}
	runs, err := a.playAll(ctx, o, p, chosen.backend)
	if err != nil {
		for _, r := range runs {
			a.notes.say("kept: %s", r.Dir)
		}
		return orInterrupted(ctx, err)
	}
	if len(runs) == 0 {
		return environment(hint.Wrap(fmt.Errorf("nothing could be played on the %s backend", chosen.backend.Name()),
			"choose another --backend; oversell doctor says what there is"))
	}
	if err := a.writeReports(p.outputs, runs, p.color); err != nil {
		return err
	}
	return exitWith(gateCode(result.NewDocument(runs).Gate))
}

// choose finds the backend that --backend asks for.
func (a *app) choose(ctx context.Context, o *runOptions, shapes []cluster.Shape) (choice, error) {
	r := resolver{backends: a.backends, ci: a.ci(), timeout: probeAll}
	if o.Backend == autoBackend {
		return r.auto(ctx, o.Redis, shapes)
	}
	return r.explicit(ctx, o.Backend, o.Redis)
}

// playAll plays the jobs one after the other and removes what they shared.
// Jobs that the backend can't play are skipped, with the reason on stderr.
func (a *app) playAll(ctx context.Context, o *runOptions, p plan, backend cluster.Backend) (runs []result.Run, err error) {
	update, stop := a.notes.show(a.errTTY && a.env("TERM") != "dumb", a.width)
	defer stop()
	eng := a.newEngine(engine.Config{
		Run: engine.NewRunID(), Backend: backend, Redis: o.Redis,
		World: a.world(), Checks: a.checks, Worker: a.worker,
		Dir: o.Dir, AllowSimulated: o.AllowSimulated,
		Progress: update, Version: readBuild().Version,
	})
	defer func() {
		// What was started goes away even when ctx has ended.
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), removal)
		defer cancel()
		if closeErr := eng.Close(closing); closeErr != nil {
			closeErr = hint.Wrap(fmt.Errorf("remove what was started: %w", closeErr), "oversell clean tries again")
			err = errors.Join(err, environment(closeErr))
		}
	}()
	for _, j := range p.jobs {
		if no := eng.Available(j); no != nil {
			a.notes.say("skipped %s under %s: %v", j.Scenario.Name, j.Kind.Name, no)
			continue
		}
		r, err := eng.Run(ctx, j)
		if err != nil {
			return runs, jobError(j, err)
		}
		a.notes.say("%s", reports.Line(r))
		runs = append(runs, r)
	}
	return runs, nil
}

// jobError says which job failed. Whatever carries a hint for its reader is
// the machine's fault, all else is ours.
func jobError(j engine.Job, err error) error {
	h := hint.Of(err)
	err = fmt.Errorf("%s under %s: %w", j.Scenario.Name, j.Kind.Name, err)
	if h != "" {
		return environment(err)
	}
	return err
}

// orInterrupted gives err the exit code of an interruption when a signal has
// ended ctx, and drops words that only tell that ctx has ended.
func orInterrupted(ctx context.Context, err error) error {
	if !interrupted(ctx) || err == nil {
		return err
	}
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	return &codeError{exitInterrupted, err}
}

// gateCode is the exit code for a gate.
func gateCode(g result.Gate) int {
	switch g {
	case result.Pass:
		return exitMet
	case result.Fail:
		return exitViolation
	}
	return exitInconclusive
}
