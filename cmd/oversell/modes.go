package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/internal/sweep"
)

// checkMode refuses flags that don't go together.
func (o *runOptions) checkMode() error {
	switch {
	case len(o.Baselines) > 0 && (o.All || o.Sweep != ""):
		return hint.Wrap(usagef("--baseline doesn't go with --all and --sweep"), "compare the runs of scenarios that you name, or of all: oversell run all")
	case o.Sweep != "" && o.All:
		return hint.Wrap(usagef("--sweep and --all don't go together"), "sweep the scenarios and locks that you name")
	case o.Sweep != "":
		return o.checkSweep()
	case o.All && len(o.Expect) > 0:
		return hint.Wrap(usagef("--expect and --all don't go together"), "the matrix is about what the locks claim")
	case o.has("parallel") && !o.All:
		return hint.Wrap(usagef("--parallel is for --all and --resume"), "other runs go on one after the other")
	case o.has("parallel") && o.Parallel < 1:
		return usagef("--parallel must be at least 1, got %d", o.Parallel)
	}
	return nil
}

// checkSweep refuses what contradicts the sweep, and a sweep that can't be read.
func (o *runOptions) checkSweep() error {
	if len(o.Expect) > 0 {
		return hint.Wrap(usagef("--expect and --sweep don't go together"), "a sweep shows what comes out, and holds locks to their claims only")
	}
	if o.has("parallel") {
		return hint.Wrap(usagef("--parallel is for --all and --resume"), "other runs go on one after the other")
	}
	s, err := sweep.Parse(o.Sweep)
	if err != nil {
		return hint.Wrap(&codeError{exitUsage, fmt.Errorf("--sweep: %w", err)}, "for example --sweep ttl=50ms..1s, --sweep ttl=50ms..1s/12 or --sweep clients=10,50,200")
	}
	if flag := s.Parameter.Flag; flag != "" && o.has(flag) {
		return hint.Wrap(usagef("--sweep %s and --%s set the same number", s.Parameter.Name, flag), "leave --%s out", flag)
	}
	return nil
}

// resumable are the flags that go with --resume: everything else is in the
// matrix already.
var resumable = []string{
	"resume", "all", "output", "color", "parallel",
	"redis-url", "sentinel-url", "quorum-url", "inventory-url", "metrics", "metrics-linger",
}

// checkResume refuses flags that would make another matrix of it.
func (o *runOptions) checkResume() error {
	var odd []string
	for _, flag := range o.given {
		if !slices.Contains(resumable, flag) {
			odd = append(odd, "--"+flag)
		}
	}
	if len(o.Scenarios) > 0 && !o.has("scenario") {
		odd = append(odd, "SCENARIO")
	}
	if len(odd) > 0 {
		return hint.Wrap(usagef("--resume goes on with what the matrix was begun with: leave out %s", strings.Join(odd, ", ")),
			"begin another one with --all")
	}
	if o.has("parallel") && o.Parallel < 1 {
		return usagef("--parallel must be at least 1, got %d", o.Parallel)
	}
	return nil
}
