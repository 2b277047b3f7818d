package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/internal/engine"
	"github.com/oversell/oversell/internal/explore"
	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/internal/retrace"
	"github.com/oversell/oversell/internal/timeline"
	"github.com/oversell/oversell/reports"
	"github.com/oversell/oversell/result"
)

// pageFile is the page within a run's folder.
const pageFile = "report.html"

// reportOptions is what the command line of `oversell report` says.
type reportOptions struct {
	Paths   []string
	Outputs []string
	Color   string
}

const reportLong = `Report reads the folders of earlier runs and reports them again. Without --output
it writes ` + pageFile + ` into each of them, as every run does at its end. With --output
all of them make one report: several runs on one page share its axis of time.

It also reads schedule files that oversell explore has left, and draws them as a
page, or tells them as text.

A run that was killed is reported as far as its history goes.`

const reportExample = `  oversell report runs/latest
  oversell report runs/20261129-120000-ttl-expiry-* --output html=compared.html
  oversell report schedules/setnx-expire-del-slow-call-oversold.json --output html=schedule.html`

func newReportCmd(a *app, runF func(context.Context, *reportOptions) error) *cobra.Command {
	if runF == nil {
		runF = a.report
	}
	o := &reportOptions{}
	cmd := &cobra.Command{
		Use:     "report DIR...",
		Short:   "Report earlier runs again, one by one or on one page",
		Long:    reportLong,
		Example: reportExample,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return nil
			}
			return hint.Wrap(usagef("report takes at least one folder of a run"), "%s/latest is the newest", defaultDir)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Paths = args
			return runF(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.Outputs, "output", nil, "FORMAT or FORMAT=PATH, repeatable (default: "+pageFile+" in each folder)")
	f.StringVar(&o.Color, "color", "auto", colorUsage)
	completeWith(cmd, "output", completeFormats(a.formats))
	complete(cmd, "color", colorModes)
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return cmd
}

// reportMemory makes the garbage collector work harder once a large history is
// in memory: a million events take 600 MB.
const reportMemory = 700 << 20

// report is `oversell report`.
func (a *app) report(_ context.Context, o *reportOptions) error {
	debug.SetMemoryLimit(reportMemory)
	color, err := a.colors(o.Color)
	if err != nil {
		return err
	}
	if schedules, err := readSchedules(o.Paths); schedules != nil || err != nil {
		return a.reportSchedules(o, schedules, err)
	}
	if len(o.Outputs) == 0 {
		return a.remakePages(o.Paths)
	}
	outputs, err := a.parseOutputs(o.Outputs)
	if err != nil {
		return err
	}
	var runs []result.Run
	for _, dir := range o.Paths {
		r, err := a.savedRun(dir)
		if err != nil {
			return err
		}
		runs = append(runs, r)
	}
	return a.writeReports(outputs, runs, color)
}

// remakePages writes the page of each run into its folder.
func (a *app) remakePages(dirs []string) error {
	for _, dir := range dirs {
		r, err := a.savedRun(dir)
		if err != nil {
			return err
		}
		path := filepath.Join(dir, pageFile)
		err = writeFile(path, func(w io.Writer) error {
			return reports.HTML().Write(w, []result.Run{r}, reports.Options{Timeline: a.timelineOf})
		})
		if err != nil {
			return environment(fmt.Errorf("write %s: %w", path, err))
		}
		if _, err := fmt.Fprintln(a.out, path); err != nil {
			return err
		}
	}
	return nil
}

// savedRun reads a run's folder: its result, or, of a run that was killed
// before it was judged, what its history comes to.
func (a *app) savedRun(dir string) (result.Run, error) {
	data, err := os.ReadFile(filepath.Join(dir, engine.ResultFile))
	switch {
	case err == nil:
		return parseResult(dir, data)
	case !errors.Is(err, fs.ErrNotExist):
		return result.Run{}, environment(fmt.Errorf("read the result: %w", err))
	}
	h, err := history.Load(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return result.Run{}, &codeError{exitUsage, hint.Wrap(fmt.Errorf("%s is no folder of a run: %w", dir, err),
			"name one that has %s and %s in it, such as %s/latest", history.PlanFile, history.EventsFile, defaultDir)}
	}
	if err != nil && !errors.Is(err, history.ErrTruncated) {
		return result.Run{}, &codeError{exitUsage, err}
	}
	if failed(h) {
		return unjudged(h.Plan, dir), nil
	}
	a.notes.say("%s has no %s: judged again from its history", dir, engine.ResultFile)
	r := engine.Judge(h, a.checks)
	r.Dir = filepath.ToSlash(dir)
	return r, nil
}

func parseResult(dir string, data []byte) (result.Run, error) {
	path := filepath.Join(dir, engine.ResultFile)
	runs, err := runsIn(data)
	if err != nil {
		return result.Run{}, &codeError{exitUsage, fmt.Errorf("read %s: %w", path, err)}
	}
	if len(runs) != 1 {
		return result.Run{}, &codeError{exitUsage, fmt.Errorf("%s is no result of one run: it has %d runs", path, len(runs))}
	}
	r := runs[0]
	r.Dir = filepath.ToSlash(dir)
	return r, nil
}

// failed reports whether the run itself said that it comes to no verdict.
func failed(h history.History) bool {
	return slices.ContainsFunc(h.Events, func(e history.Event) bool { return e.Kind == history.RunFailed })
}

// unjudged is a run without a verdict, as far as its plan tells.
func unjudged(p history.Plan, dir string) result.Run {
	return result.Run{
		Scenario: p.Scenario, Hazard: result.Hazard(p.Hazard), Lock: p.Lock, Alias: p.Alias,
		Backend: p.Backend, Server: p.Server, Simulated: p.Simulated, Expected: result.Expectation(p.Expected),
		Stock: result.Stock{Initial: p.Stock, Left: p.Stock}, TTLMS: float64(p.TTL.Microseconds()) / 1000,
		Renews: p.Renews, Fenced: p.Fenced, Seed: p.Seed, Command: p.Command, Dir: filepath.ToSlash(dir),
	}
}

// timelineOf draws up what happened in a run from its folder. It is nil for a
// run without one.
func (a *app) timelineOf(r result.Run, b timeline.Budget) (*timeline.Timeline, error) {
	if r.Dir == "" {
		return nil, nil
	}
	h, err := history.Load(filepath.FromSlash(r.Dir))
	truncated := errors.Is(err, history.ErrTruncated)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil && !truncated:
		return nil, err
	}
	t := retrace.Timeline(h, r, b)
	t.Truncated = truncated
	return t, nil
}

// keepPage writes the page of a trial that is over into its folder. The run is
// none the worse for it when that fails.
func (a *app) keepPage(e engine.Ended) {
	r := e.Result
	if e.Err != nil {
		r = unjudged(e.History.Plan, e.Dir)
	}
	drawn := func(_ result.Run, b timeline.Budget) (*timeline.Timeline, error) {
		return retrace.Timeline(e.History, r, b), nil
	}
	err := writeFile(filepath.Join(e.Dir, pageFile), func(w io.Writer) error {
		return reports.HTML().Write(w, []result.Run{r}, reports.Options{Timeline: drawn})
	})
	if err != nil {
		a.notes.say("%s couldn't be written: %v", filepath.Join(e.Dir, pageFile), err)
	}
}

// readSchedules reads schedule files. It returns nil when the paths aren't any.
func readSchedules(paths []string) ([]explore.Schedule, error) {
	var found []explore.Schedule
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil || info.IsDir() {
			if len(found) > 0 {
				return nil, usagef("%s is no schedule file, and the others are", path)
			}
			return nil, nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, environment(err)
		}
		s, err := parseSchedule(path, data)
		if err != nil {
			return nil, err
		}
		found = append(found, s)
	}
	return found, nil
}
