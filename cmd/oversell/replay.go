package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/internal/engine"
	"github.com/oversell/oversell/internal/explore"
	"github.com/oversell/oversell/internal/hint"
)

// replayOptions is what the command line of `oversell replay` says.
type replayOptions struct {
	Path    string
	Backend string
	Redis   string
}

// inBubble is the value of --backend that plays on the simulated server.
const inBubble = "bubble"

const replayLong = `Replay plays a schedule that oversell explore has found. Without --backend it
plays it where it was found: on a fake clock, against a simulated server. With a
backend it plays it on a real server, by holding each command on the wire until
it is its turn, and says whether the server confirms it.`

const replayExample = `  oversell replay schedules/setnx-expire-del-slow-call-oversold.json
  oversell replay schedules/setnx-expire-del-slow-call-oversold.json --backend docker`

func newReplayCmd(a *app, runF func(context.Context, *replayOptions) error) *cobra.Command {
	if runF == nil {
		runF = a.replay
	}
	o := &replayOptions{}
	cmd := &cobra.Command{
		Use:     "replay SCHEDULE",
		Short:   "Play a schedule that explore has found, also on a real server",
		Long:    replayLong,
		Example: replayExample,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			return hint.Wrap(usagef("replay takes one schedule file, got %d", len(args)), "oversell explore writes one for each counterexample")
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Path = args[0]
			return runF(cmd.Context(), o)
		},
	}
	backends := append([]string{inBubble}, a.realBackendNames()...)
	f := cmd.Flags()
	f.StringVar(&o.Backend, "backend", inBubble, "where to play it: "+strings.Join(backends, ", "))
	f.StringVar(&o.Redis, "redis", "", "server version (default: "+cluster.Versions()[0]+" in containers, else what is there)")
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"json"}, cobra.ShellCompDirectiveFilterFileExt
	}
	complete(cmd, "backend", backends)
	complete(cmd, "redis", cluster.Versions())
	return cmd
}

// realBackendNames lists the backends that start real servers.
func (a *app) realBackendNames() []string {
	var names []string
	for _, b := range a.backends {
		if b.Real() {
			names = append(names, b.Name())
		}
	}
	return names
}

// replay is `oversell replay`.
func (a *app) replay(ctx context.Context, o *replayOptions) error {
	data, err := os.ReadFile(o.Path)
	if err != nil {
		return &codeError{exitUsage, hint.Wrap(err, "oversell explore writes a schedule file for each counterexample")}
	}
	s, err := parseSchedule(o.Path, data)
	if err != nil {
		return err
	}
	k, err := a.findKind(s.Lock)
	if err != nil {
		return err
	}
	names := append([]string{inBubble}, a.realBackendNames()...)
	if !containsWord(names, o.Backend) {
		return unknown("backend", o.Backend, names)
	}
	if o.Backend != inBubble {
		return a.replayReal(ctx, o, s, s.Case(k))
	}
	if a.guarded != nil {
		return a.guarded(ctx)
	}
	x, err := explore.Replay(explore.Config{T: explore.Ordinary()}, s.Case(k), s)
	if err != nil {
		return explainExplore(s.Case(k), err)
	}
	_, err = io.WriteString(a.out, counterexampleText(x))
	return err
}

// parseSchedule reads a schedule that stood at path.
func parseSchedule(path string, data []byte) (explore.Schedule, error) {
	s, err := explore.ParseSchedule(data)
	if err != nil {
		return s, &codeError{exitUsage, fmt.Errorf("%s: %w", path, err)}
	}
	return s, nil
}

// replayReal plays a schedule on a real server.
func (a *app) replayReal(ctx context.Context, o *replayOptions, s explore.Schedule, c explore.Case) (err error) {
	var versions []string
	if o.Redis != "" {
		versions = []string{o.Redis}
	}
	chosen, err := resolver{backends: a.backends}.explicit(ctx, o.Backend, versions)
	if err != nil {
		return orInterrupted(ctx, err)
	}
	a.notes.say("backend %s: %s", chosen.backend.Name(), chosen.why)
	cl, err := chosen.backend.Start(ctx, cluster.Spec{Run: engine.NewRunID(), Name: "lock-1", Shape: c.Shape(), Version: o.Redis})
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), removal)
		defer cancel()
		if closeErr := cl.Close(closing); closeErr != nil && err == nil {
			err = a.removalError(closeErr)
		}
	}()
	if err != nil {
		return environment(orInterrupted(ctx, err))
	}
	r, err := explore.ReplayReal(ctx, c, s, cl)
	if err != nil {
		return orInterrupted(ctx, err)
	}
	var b strings.Builder
	for _, line := range r.Lines {
		b.WriteString(line + "\n")
	}
	b.WriteString(r.Verdict() + "\n")
	if _, err := io.WriteString(a.out, b.String()); err != nil {
		return err
	}
	if !r.Confirmed {
		return exitWith(exitInconclusive)
	}
	return nil
}
