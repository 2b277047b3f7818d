package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/oversell/oversell/internal/explore"
	"github.com/oversell/oversell/internal/hint"
)

// Exploring makes much garbage beside little that lasts: collecting it seldom,
// but before there is too much of it, saves a third of the time.
const (
	memoryLimit = 432 << 20
	gcPercent   = 800

	helpersLimit = 192 << 20 // of all processes that help, beside what they share
	helperLimit  = 32 << 20  // of each, at least
)

// errBefore is why a case isn't explored whose turn didn't come.
var errBefore = errors.New("interrupted before")

// exploration is one case and what it has come to.
type exploration struct {
	c      explore.Case
	report *explore.Report
	not    error             // why it wasn't explored
	files  map[string]string // the schedule file of each property
	resume string            // the file to go on with
}

// explore is `oversell explore`.
func (a *app) explore(ctx context.Context, o *exploreOptions) error {
	cases, err := a.cases(o)
	if err != nil {
		return err
	}
	if err := checkPlaces(o.Dir, nil); err != nil {
		return err
	}
	if a.guarded == nil {
		return a.exploreHere(ctx, o, cases)
	}
	return a.guarded(ctx)
}

// exploreHere explores in this process, which a lock that panics would end.
func (a *app) exploreHere(ctx context.Context, o *exploreOptions, cases []explore.Case) error {
	debug.SetMemoryLimit(memoryLimit)
	debug.SetGCPercent(gcPercent)
	if o.All {
		return a.exploreAll(ctx, o, cases)
	}
	var done []exploration
	for _, c := range cases {
		x, err := a.exploreCase(ctx, o, c)
		if err != nil {
			return err
		}
		done = append(done, x)
		if o.Output == "text" {
			if _, err := io.WriteString(a.out, a.explorationText(x)+"\n"); err != nil {
				return err
			}
		}
	}
	if err := a.writeExplorations(o, done); err != nil {
		return err
	}
	if interrupted(ctx) {
		return &codeError{exitInterrupted, hint.Wrap(errInterrupted, "%s", resumeHint(done))}
	}
	return exitWith(explorationCode(done))
}

// resumeHint says how to go on after an interrupt.
func resumeHint(done []exploration) string {
	var ways, rest []string
	for _, x := range done {
		switch {
		case x.resume != "" && len(done) > 1: // a file belongs to one lock
			ways = append(ways, fmt.Sprintf("--lock %s --resume %s", x.c.Kind.Name, shellQuote(x.resume)))
		case x.resume != "":
			ways = append(ways, "--resume "+shellQuote(x.resume))
		case errors.Is(x.not, errBefore):
			rest = append(rest, x.c.Kind.Name)
		}
	}
	if len(rest) > 0 {
		ways = append(ways, "--lock "+strings.Join(rest, ","))
	}
	if len(ways) == 0 {
		return "run it again to start anew"
	}
	return "go on with the same flags and " + strings.Join(ways, ", then with ")
}

// explorationCode is the exit code: something broke, or not all is known.
func explorationCode(done []exploration) int {
	code := exitMet
	for _, x := range done {
		switch {
		case x.report != nil && len(x.report.Found) > 0:
			return exitViolation
		case x.report == nil || !x.report.Complete:
			code = exitInconclusive
		}
	}
	return code
}

// exploreCase explores one case and saves what it finds.
func (a *app) exploreCase(ctx context.Context, o *exploreOptions, c explore.Case) (exploration, error) {
	x := exploration{c: c, files: map[string]string{}}
	if x.not = explore.Unexplorable(c.Kind); x.not == nil && interrupted(ctx) {
		x.not = errBefore
	}
	if x.not != nil {
		return x, nil
	}
	cfg := explore.Config{
		T: explore.Ordinary(), Workers: o.workers(), Strategy: explore.Strategy(o.Strategy),
		Budget: o.Budget, Progress: a.exploreProgress(c), Help: a.helper(o.workers()),
	}
	if o.Resume != "" {
		data, err := os.ReadFile(o.Resume)
		if err != nil {
			return x, environment(fmt.Errorf("--resume: %w", err))
		}
		cfg.Resume = data
	}
	r, err := explore.Explore(ctx, c, cfg)
	if err != nil {
		return x, explainExplore(c, err)
	}
	x.report = r
	return x, x.save(o.Dir)
}

// helper makes commands of processes that help to explore, n of them.
func (a *app) helper(n int) func() *exec.Cmd {
	if len(a.worker) == 0 || runtime.GOOS != "linux" {
		return nil
	}
	return func() *exec.Cmd {
		cmd := exec.Command(a.worker[0], exploreHelperCommand)
		cmd.Env = append(os.Environ(), guardVariable+"=1", "GOMAXPROCS=1",
			fmt.Sprintf("GOMEMLIMIT=%d", max(helperLimit, helpersLimit/n)), fmt.Sprintf("GOGC=%d", gcPercent))
		cmd.Stderr = a.err
		return cmd
	}
}

// explainExplore says what a lock did that can't be explored.
func explainExplore(c explore.Case, err error) error {
	var nd *explore.NondeterminismError
	var stuck *explore.StuckError
	switch {
	case errors.As(err, &nd):
		return &codeError{exitInconclusive, hint.Wrap(err,
			"it depends on something besides its clients, time, and the Rand of its options, such as a global random source or the wall clock")}
	case errors.As(err, &stuck):
		return &codeError{exitInconclusive, err}
	case hint.Of(err) != "":
		return &codeError{exitUsage, err}
	}
	return &codeError{exitInconclusive, err}
}

// save leaves schedule files, and a file to go on with.
func (x *exploration) save(dir string) error {
	name := x.c.Kind.Name
	if x.c.Masters > 0 {
		name += fmt.Sprintf("-%d-masters", x.c.Masters)
	}
	base := filepath.Join(dir, name+"-"+hazardSlug(x.c))
	for _, found := range x.report.Found {
		path := base + "-" + strings.ReplaceAll(string(found.Property), " ", "-") + ".json"
		data, err := found.Schedule().File()
		if err != nil {
			return err
		}
		err = writeFile(path, func(w io.Writer) error { _, err := w.Write(data); return err })
		if err != nil {
			return environment(fmt.Errorf("save the schedule: %w", err))
		}
		x.files[string(found.Property)] = path
	}
	if x.report.Checkpoint == nil {
		return nil
	}
	x.resume = base + ".resume"
	err := writeFile(x.resume, func(w io.Writer) error { _, err := w.Write(x.report.Checkpoint); return err })
	return environment(err)
}

// hazardSlug names a case's hazards in a file's name.
func hazardSlug(c explore.Case) string {
	var words []string
	for _, b := range c.Hazards {
		words = append(words, string(b.Hazard))
	}
	switch {
	case len(words) == 0:
		return "none"
	case len(words) == len(explore.Hazards()):
		return "all"
	}
	return strings.Join(words, "+")
}

// exploreProgress shows how far an exploration is: in place on a terminal, elsewhere
// in a line now and then.
func (a *app) exploreProgress(c explore.Case) func(explore.Progress) {
	if !a.errTTY || a.env("TERM") == "dumb" {
		var last time.Time
		return func(p explore.Progress) {
			if p.Over || time.Since(last) < progressEvery {
				return
			}
			last = time.Now()
			a.notes.say("%s", progressText(c, p))
		}
	}
	return func(p explore.Progress) {
		fmt.Fprintf(a.err, "\r\x1b[K%s\r", progressText(c, p))
	}
}

// progressEvery is how often progress is told where nobody sees it in place.
const progressEvery = 10 * time.Second

func progressText(c explore.Case, p explore.Progress) string {
	what := fmt.Sprintf("%s states, %s open", many(p.States), many(p.Open))
	if p.Sampling {
		what = fmt.Sprintf("drawn at random, %s final states", many(p.States))
	}
	text := fmt.Sprintf("%s: %s schedules, %s", c.Kind.Name, many(p.Runs), what)
	if p.Found {
		text += ", oversold"
	}
	return text
}
