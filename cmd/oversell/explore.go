package main

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oversell/oversell/internal/explore"
	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/locks"
)

// exploreOptions is what the command line of `oversell explore` says.
type exploreOptions struct {
	Locks    []string
	Hazards  []string
	All      bool
	Together bool // with All: Hazards all together too
	Buyers   int
	Masters  int
	Stock    int
	TTL      time.Duration
	Bounds   []string
	bounds   explore.Bounds
	Strategy string
	Seed     uint64
	Budget   time.Duration
	Workers  int
	Output   string
	Dir      string
	Resume   string
}

const exploreLong = `Explore runs the real code of a lock, and the real purchase, in every order in
which their commands can reach the server, with everything that the hazards
allow, and finds the shortest order that sells more than there is. Servers are
simulated and time is fake; nothing of the lock is.

It ends in one of three ways: all schedules under the hazards and bounds are
accounted for and none oversells; some do, and the shortest is told and saved as
a file for oversell replay; or the budget has ended before all was known.

A hazard strikes at most so often in one schedule: NAME=N changes that. With
--bound faults=N all hazards together strike at most N times, which is 2 unless
told when more than two hazards are named, and 1 on several masters. There,
--bound preemptions=1 is usual with delay and expiry, and on more than three
masters; otherwise more than two buyers have preemptions=2 there, and on one
server under more than two hazards. A bound of none is none.`

const exploreExample = `  oversell explore --lock naive --hazards slow-call
  oversell explore --lock lua-watchdog --hazards slow-call,crash,delay
  oversell explore --lock fenced --hazards all --buyers 3
  oversell explore --lock redsync --masters 3 --hazards restart
  oversell explore --lock naive --output html=counterexample.html
  oversell explore --all --output markdown`

var exploreFormats = []string{"text", "json", "markdown", "html"}

// newExploreCmd makes the command; runF, when not nil, takes the place of the exploration.
func newExploreCmd(a *app, runF func(context.Context, *exploreOptions) error) *cobra.Command {
	if runF == nil {
		runF = func(ctx context.Context, o *exploreOptions) error { return a.explore(ctx, o) }
	}
	o := &exploreOptions{}
	cmd := &cobra.Command{
		Use:     "explore",
		Short:   "Try every order of a lock's commands, and show the shortest that oversells",
		Long:    exploreLong + "\n\nThe hazards:\n\n" + hazardList(),
		Example: exploreExample,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Together = o.All && cmd.Flags().Changed("hazards")
			return runF(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.Locks, "lock", []string{"naive"}, "lock kinds, by name or alias")
	f.StringSliceVar(&o.Hazards, "hazards", []string{"slow-call"}, "what may go wrong, NAME or NAME=TIMES: "+strings.Join(explore.HazardWords(), ", "))
	f.BoolVar(&o.All, "all", false, "a table of every lock kind under every hazard by itself, and under those that --hazards names together")
	f.IntVar(&o.Buyers, "buyers", 2, "customers, each in an instance of its own")
	f.IntVar(&o.Masters, "masters", 0, fmt.Sprintf("independent masters of which a lock takes the majority, %d to %d; 0: one server, or %[1]d for kinds that need several", explore.MinMasters, explore.MaxMasters))
	f.IntVar(&o.Stock, "stock", 1, "units at the start")
	f.DurationVar(&o.TTL, "ttl", explore.DefaultTTL, "of the lock, on the fake clock")
	f.StringSliceVar(&o.Bounds, "bound", nil, "preemptions=N: a buyer that could go on is made to wait at most N times; faults=N: see above")
	f.StringVar(&o.Strategy, "strategy", string(explore.Auto), strings.Join(strategyNames(), ", "))
	f.Uint64Var(&o.Seed, "seed", 1, "of pauses and of the strategies that draw")
	f.DurationVar(&o.Budget, "budget", time.Minute, "how long to explore each lock kind; 0 is no bound")
	f.IntVar(&o.Workers, "workers", 0, "bubbles side by side")
	f.Lookup("workers").DefValue = "one for each core"
	f.StringVar(&o.Output, "output", exploreFormats[0], strings.Join(exploreFormats, ", ")+", or html=PATH: a page of what was found")
	f.StringVar(&o.Dir, "dir", "schedules", "where schedule files are left")
	f.StringVar(&o.Resume, "resume", "", "go on with the exploration that has left this file")
	completeExplore(cmd, a)
	return cmd
}

func hazardList() string {
	var b strings.Builder
	for _, h := range explore.Hazards() {
		fmt.Fprintf(&b, "  %-13s %s\n", h.Hazard, h.Summary)
	}
	return strings.TrimRight(b.String(), "\n")
}

func strategyNames() []string {
	var names []string
	for _, s := range explore.Strategies() {
		names = append(names, string(s))
	}
	return names
}

func completeExplore(cmd *cobra.Command, a *app) {
	completeWith(cmd, "lock", listOf(a.lockNames()))
	completeWith(cmd, "hazards", listOf(explore.HazardWords()))
	completeWith(cmd, "bound", listOf([]string{"preemptions=", "faults="}))
	complete(cmd, "strategy", strategyNames())
	complete(cmd, "output", exploreFormats)
	completeWith(cmd, "dir", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	})
	for _, number := range []string{"buyers", "masters", "stock", "ttl", "seed", "budget", "workers"} {
		completeWith(cmd, number, cobra.NoFileCompletions)
	}
}

// cases checks the command line and returns what is to be explored.
func (a *app) cases(o *exploreOptions) ([]explore.Case, error) {
	c := explore.Case{Buyers: o.Buyers, Masters: o.Masters, Stock: o.Stock, TTL: o.TTL, Seed: o.Seed}
	hazards, err := parseHazards(o.Hazards)
	if err != nil {
		return nil, err
	}
	c.Hazards = hazards
	if o.bounds, err = parseBounds(o.Bounds); err != nil {
		return nil, err
	}
	for _, w := range []struct {
		what, word string
		names      []string
	}{{"strategy", o.Strategy, strategyNames()}, {"output format", o.format(), exploreFormats}} {
		if !containsWord(w.names, w.word) {
			return nil, unknown(w.what, w.word, w.names)
		}
	}
	if err := o.checkOutput(); err != nil {
		return nil, err
	}
	kinds, err := a.exploredKinds(o)
	if err != nil {
		return nil, err
	}
	var cases []explore.Case
	for _, k := range kinds {
		one := c
		if one.Kind = k; o.All && !explore.CanHaveMasters(k) {
			one.Masters = 0
		}
		one = one.WithDefaults().Within(o.bounds)
		if err := one.Check(); err != nil && explore.Unexplorable(k) == nil {
			return nil, &codeError{exitUsage, err}
		}
		cases = append(cases, one)
		if more, ok := one.OnMasters(); ok && o.All {
			cases = append(cases, more.Within(o.bounds))
		}
	}
	if o.Resume != "" && len(cases) > 1 {
		return nil, usagef("--resume goes on with one lock kind, and %d are named", len(cases))
	}
	return cases, nil
}

func containsWord(words []string, word string) bool {
	for _, w := range words {
		if w == word {
			return true
		}
	}
	return false
}

func (a *app) exploredKinds(o *exploreOptions) ([]locks.Kind, error) {
	if o.All {
		return a.kinds, nil
	}
	var kinds []locks.Kind
	for _, name := range o.Locks {
		k, err := a.findKind(name)
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, k)
	}
	if len(kinds) == 0 {
		return nil, hint.Wrap(usagef("no lock to explore"), "choose from %s", strings.Join(a.lockNames(), ", "))
	}
	return kinds, nil
}

func parseHazards(given []string) ([]explore.Budget, error) {
	hazards, err := explore.ParseHazards(given)
	if no, ok := err.(*explore.UnknownHazardError); ok {
		return nil, unknown("hazard", no.Name, explore.HazardWords())
	}
	if err != nil {
		return nil, usagef("--hazards %w", err)
	}
	return hazards, nil
}

// parseBounds reads "preemptions=2" and "faults=1".
func parseBounds(given []string) (b explore.Bounds, err error) {
	for _, text := range given {
		name, number, _ := strings.Cut(text, "=")
		n, err := strconv.Atoi(number)
		if number == "none" {
			n, err = -1, nil
		}
		switch {
		case name != "preemptions" && name != "faults":
			return b, unknown("bound", name, []string{"preemptions", "faults"})
		case err != nil || n < 0 && number != "none" || n > 99:
			return b, hint.Wrap(usagef("--bound %s: %q is no number from 0 to 99, nor none", text, number), "for example --bound preemptions=2")
		case name == "faults":
			n = max(0, n)
			b.Faults = &n
		default:
			b.Preemptions = &n
		}
	}
	return b, nil
}

func (o *exploreOptions) workers() int {
	if o.Workers > 0 {
		return o.Workers
	}
	return runtime.GOMAXPROCS(0)
}
