package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/result"
)

// checkOptions is what the command line of `oversell check` says.
type checkOptions struct {
	Args           []string // folders, or with Map files of the log; "-" is stdin
	Plan           string   // of the history on stdin
	Map            string   // of a shop's own log
	Stock          *int     // at the start of that log
	AllowSimulated bool
	Outputs        []string
	Color          string
	baselineOptions
}

// stdinArg stands for stdin.
const stdinArg = "-"

const checkLong = `Check judges runs again from what they have saved: the same checks on the same
history come to the same verdict. Where a run has saved another one, it says so.
It starts nothing and changes nothing. A folder with runs in it stands for all of
them. A history that ends in the middle of a line, as that of a run that was
killed does, is judged up to there.

With - the history is read from stdin. Histories begin with their plan; for older
ones --plan names it.

With --map the arguments are files of a shop's own log, in JSON lines. The mapping
says what the log calls things. What was sold is counted against what there was,
and the lock is judged by who held it at the same time. See docs/ci.md.`

const checkExample = `  oversell check runs/latest
  oversell check runs --output junit=oversell.xml --output text
  ssh build cat runs/latest/history.jsonl | oversell check -
  oversell check --map shop.yaml shop-1.jsonl shop-2.jsonl
  kubectl logs -l app=shop | oversell check --map shop.yaml --stock 100 -`

func newCheckCmd(a *app, runF func(context.Context, *checkOptions) error) *cobra.Command {
	if runF == nil {
		runF = a.check
	}
	o := &checkOptions{}
	cmd := &cobra.Command{
		Use:     "check DIR...|-",
		Short:   "Judge saved runs again, or a shop's own log",
		Long:    checkLong,
		Example: checkExample,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return nil
			}
			return hint.Wrap(usagef("check names no run"), "name a run's folder, such as runs/latest, or - for a history on stdin")
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Plan, "plan", "", "the plan.json of the history on stdin, where the history doesn't have it")
	f.StringVar(&o.Map, "map", "", "the arguments are files of a shop's own log, which this file explains, as YAML")
	stock := f.Int("stock", 0, "with --map: units at the start")
	f.Lookup("stock").DefValue = "what the log or the mapping says"
	f.BoolVar(&o.AllowSimulated, "allow-simulated", false, "let results of the embedded backend meet the gate")
	f.StringArrayVar(&o.Outputs, "output", nil, a.outputUsage())
	addBaselineFlags(f, &o.baselineOptions)
	f.StringVar(&o.Color, "color", "auto", colorUsage)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.Args = args
		if f.Changed("stock") {
			o.Stock = stock
		}
		return runF(cmd.Context(), o)
	}
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault
	}
	completeReports(cmd, a)
	completeWith(cmd, "plan", cobra.FixedCompletions([]string{"json"}, cobra.ShellCompDirectiveFilterFileExt))
	completeWith(cmd, "map", cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt))
	completeWith(cmd, "stock", cobra.NoFileCompletions)
	return cmd
}

// validate refuses what doesn't go together.
func (o *checkOptions) validate() error {
	stdin := slices.Contains(o.Args, stdinArg)
	switch {
	case stdin && len(o.Args) > 1 && o.Map == "":
		return hint.Wrap(usagef("- and folders don't go together"), "check them one after the other")
	case o.Plan != "" && o.Map != "":
		return usagef("--plan and --map don't go together: a shop's own log has no plan")
	case o.Plan != "" && !stdin:
		return hint.Wrap(usagef("--plan is for a history on stdin"), "a folder has its own plan.json")
	case o.Stock != nil && o.Map == "":
		return hint.Wrap(usagef("--stock is for a shop's own log"), "a run's plan says how many units there were")
	case o.Stock != nil && *o.Stock < 0:
		return usagef("--stock can't be negative, got %d", *o.Stock)
	}
	return nil
}

// check is `oversell check`: read, judge, report.
func (a *app) check(ctx context.Context, o *checkOptions) error {
	if err := o.validate(); err != nil {
		return err
	}
	outs, err := a.parseOutputs(o.Outputs)
	if err != nil {
		return err
	}
	color, err := a.colors(o.Color)
	if err != nil {
		return err
	}
	if err := checkOutputs(outs); err != nil {
		return err
	}
	before, err := o.baseline()
	if err != nil {
		return err
	}
	follow, err := a.openStreams(outs, color)
	if err != nil {
		return err
	}
	var runs []result.Run
	err = a.judgeAll(ctx, o, func(r result.Run) {
		r = before.compare(r)
		follow.write(r)
		runs = append(runs, r)
	})
	streamed := follow.end()
	if err != nil {
		return orInterrupted(ctx, err)
	}
	return a.tell(outs, runs, before, color, streamed)
}

// judgeAll judges what o names, one after the other.
func (a *app) judgeAll(ctx context.Context, o *checkOptions, judged func(result.Run)) error {
	switch {
	case o.Map != "":
		return a.judgeLog(o, judged)
	case slices.Contains(o.Args, stdinArg):
		r, err := a.judgeStdin(o)
		if err == nil {
			judged(r)
		}
		return err
	}
	dirs, err := runFolders(o.Args)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := a.judgeFolder(o, dir)
		if err != nil {
			return err
		}
		judged(r)
	}
	return nil
}

var errNothingSaved = errors.New("there is no run in it")

func notSaved(path string, err error) error {
	return hint.Wrap(&codeError{exitUsage, fmt.Errorf("%s: %w", path, err)},
		"name a folder that oversell run has made, such as runs/latest; it has a plan.json and a history.jsonl")
}
