package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/internal/engine"
	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/internal/printable"
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
	defer a.endMetrics(ctx, &o.metricsOptions)
	switch {
	case o.Resume != "":
		return a.resumeMatrix(ctx, o)
	case o.All:
		return a.newMatrix(ctx, o)
	case o.Sweep != "":
		return a.runSweep(ctx, o)
	}
	p, err := a.plan(o)
	if err != nil {
		return err
	}
	backend, err := a.begin(ctx, o, &p)
	if err != nil {
		return err
	}
	follow, err := a.openStreams(p.outputs, p.color)
	if err != nil {
		return err
	}
	runs, err := a.playAll(ctx, o, p, backend, follow.write)
	streamed := follow.end()
	stays, err := splitStays(err)
	if err != nil {
		for _, r := range runs {
			a.notes.say("kept: %s", r.Dir)
		}
		return orInterrupted(ctx, err)
	}
	if len(runs) == 0 {
		return a.endWith(stays, nothingPlayed(backend))
	}
	return a.endWith(stays, a.tell(p.outputs, runs, p.baseline, p.color, streamed))
}

// stays is the error of an invocation that has played everything, and couldn't
// remove what it had started.
type stays struct{ error }

func (e *stays) Unwrap() error { return e.error }

// splitStays takes it out of what withEngine returns.
func splitStays(err error) (*stays, error) {
	if s, ok := err.(*stays); ok {
		return s, nil
	}
	return nil, err
}

// endWith is what an invocation ends with whose reports were told: with what stays,
// and with what went wrong with the reports, unless its gate found a violation.
func (a *app) endWith(s *stays, told error) error {
	var ce *codeError
	switch {
	case s == nil:
		return told
	case errors.As(told, &ce) && ce.code == exitViolation:
		a.notes.say("%v (%s)", s, hint.Of(s))
		return told
	case ce != nil && ce.err == nil: // a code without a word
		return s.error
	}
	return errors.Join(s.error, told)
}

// tell writes the reports about runs, tells the build server, and ends with the
// code of their gate. streamed is what went wrong with reports that are written
// already.
func (a *app) tell(outs []output, runs []result.Run, b *baseline, color bool, streamed error) error {
	if rest := b.rest(); rest != "" {
		a.notes.say("%s", printable.Line(rest))
	}
	err := errors.Join(streamed, a.writeReports(unstreamed(outs), runs, color))
	a.tellGitHub(runs)
	if err != nil {
		return environment(err)
	}
	return exitWith(gateCode(result.NewDocument(runs).Gate))
}

func nothingPlayed(backend cluster.Backend) error {
	return environment(hint.Wrap(fmt.Errorf("nothing could be played on the %s backend", backend.Name()),
		"choose another --backend; oversell doctor says what there is"))
}

// begin chooses the backend, says so, and gives every job the command that
// repeats the invocation.
func (a *app) begin(ctx context.Context, o *runOptions, p *plan) (cluster.Backend, error) {
	chosen, err := a.choose(ctx, o, *p)
	if err != nil {
		return nil, orInterrupted(ctx, err)
	}
	a.notes.say("backend %s: %s", chosen.backend.Name(), chosen.why)
	if about := o.secretive(); about != "" {
		a.notes.say("%s", about)
	}
	a.notes.say("seed %d", p.seed)
	p.command = a.command(o, *p, chosen.backend.Name())
	for i := range p.jobs {
		p.jobs[i].Command = p.command
	}
	return chosen.backend, nil
}

// choose finds the backend that --backend asks for.
func (a *app) choose(ctx context.Context, o *runOptions, p plan) (choice, error) {
	r := resolver{backends: a.backends, ci: a.ci(), timeout: probeAll}
	if p.remote != nil {
		r.backends = []cluster.Backend{p.remote}
		return r.explicit(ctx, p.remote.Name(), o.Redis)
	}
	if o.Backend == autoBackend {
		return r.auto(ctx, o.Redis, p.shapes())
	}
	return r.explicit(ctx, o.Backend, o.Redis)
}

// playAll plays the jobs one after the other and shows each run that was judged.
// Jobs that the backend can't play are skipped, with the reason on stderr.
func (a *app) playAll(ctx context.Context, o *runOptions, p plan, backend cluster.Backend, judged func(result.Run)) (runs []result.Run, err error) {
	err = a.withEngine(ctx, o, backend, o.Dir, "", func(eng player) error {
		for _, j := range p.jobs {
			if no := eng.Available(j); no != nil {
				a.notes.say("skipped %s under %s: %v", j.Scenario.Name, j.Kind.Name, no)
				continue
			}
			r, err := eng.Run(ctx, j)
			if errors.Is(err, engine.ErrUnavailable) { // only started servers could tell
				a.notes.say("skipped %s under %s: %v", j.Scenario.Name, j.Kind.Name, err)
				continue
			}
			if err != nil {
				return jobError(j, err)
			}
			a.notes.say("%s", a.line(o, r))
			r = p.baseline.compare(r)
			judged(r)
			runs = append(runs, r)
		}
		return nil
	})
	return runs, err
}

// line is a run in one line, with its server where several are tested.
func (a *app) line(o *runOptions, r result.Run) string {
	if len(o.Redis) > 1 {
		return reports.Line(r) + "  " + r.Server
	}
	return reports.Line(r)
}

// withEngine makes an engine that leaves its runs in dir, lets play use it, and
// removes what the runs shared. While it plays there is a live line; part,
// where not empty, says what the runs are part of: then they also share servers
// that none of them harms.
func (a *app) withEngine(ctx context.Context, o *runOptions, backend cluster.Backend, dir, part string, play func(player) error) (err error) {
	config := engine.Config{
		Run: engine.NewRunID(), Backend: backend, Redis: orOwn(o.Redis)[0],
		World: a.world(), Checks: a.checks, Worker: a.worker,
		Dir: dir, Reuse: true, AllowSimulated: o.AllowSimulated,
		Version: readBuild().Version, Ended: a.keepPage,
	}
	if o.Metrics != "" {
		if err := a.export(&o.metricsOptions); err != nil {
			return err
		}
		config.Observer = o.exporter
	}
	if err := a.keep(ctx, &o.serverOptions, &config); err != nil {
		return err
	}
	update, stop := a.notes.show(a.liveLine(), a.width, part)
	defer stop()
	config.Progress = update
	eng := a.newEngine(config)
	defer func() {
		// What was started goes away even when ctx has ended.
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), removal)
		defer cancel()
		if closeErr := eng.Close(closing); closeErr != nil {
			closeErr = a.removalError(closeErr)
			if closeErr != nil && err == nil {
				err = &stays{closeErr}
			} else {
				err = errors.Join(err, closeErr)
			}
		}
	}()
	return play(eng)
}

// liveLine reports whether stderr can take a line that is redrawn in place.
func (a *app) liveLine() bool { return a.errTTY && a.env("TERM") != "dumb" }

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

// removalError says what couldn't be removed.
func (a *app) removalError(err error) error {
	if a.noteLeftovers(err) {
		return nil
	}
	advice := hint.Of(err)
	if advice == "" {
		advice = "oversell clean tries again"
	}
	return environment(hint.Wrap(fmt.Errorf("remove what was started: %w", err), "%s", advice))
}

// noteLeftovers notes what is in nobody's way, and reports whether there is no
// other reason for err: then nothing is the worse for it.
func (a *app) noteLeftovers(err error) bool {
	if !onlyLeftovers(err) {
		return false
	}
	a.notes.say("left: %v (%s)", err, hint.Of(err))
	return true
}

// onlyLeftovers reports whether every reason for err is a leftover.
func onlyLeftovers(err error) bool {
	switch e := err.(type) {
	case nil:
		return false
	case *cluster.Leftover:
		return true
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(e.Unwrap(), func(err error) bool { return !onlyLeftovers(err) })
	case interface{ Unwrap() error }:
		return onlyLeftovers(e.Unwrap())
	default:
		return false
	}
}
