package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oversell/oversell/cluster/remote"
	"github.com/oversell/oversell/internal/diagnose"
	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/reports"
)

type diagnoseOptions struct {
	RedisURL string
	Prefixes []string
	TTL      time.Duration
	Sample   time.Duration
	Timeout  time.Duration
	Outputs  []string
}

const diagnoseLong = `Diagnose looks at a Redis server that holds locks, as you would in the middle of
an incident: connections by host and name, the slow log, lock keys without a
TTL, the longest holders, and what about memory, persistence and replication
endangers locks. Each finding says what to do.

It sends commands that only read, never KEYS or MONITOR: PING, INFO, CONFIG GET,
DBSIZE, CLIENT LIST, SLOWLOG GET, SCAN, TYPE, PTTL, GET and OBJECT IDLETIME. What the
server or its ACL refuses is listed as unknown. Values are compared with each
other and never shown.

It exits with 0 when there is no problem, 1 when there is one, 3 when the server
can't be reached, and 4 when no problem was found but one of the questions about
keys and memory stayed open. Risks, such as a server without replicas, don't
change the exit code.`

const diagnoseExample = `  oversell diagnose --redis-url redis://ops@redis-1:6379/0
  oversell diagnose --redis-url rediss://redis-1:6380 --prefix lock:stock: --ttl 3s
  oversell diagnose --redis-url redis://redis-1 --output text --output html=incident.html`

// newDiagnoseCmd makes the command; runF, when not nil, takes the place of the
// diagnosis itself.
func newDiagnoseCmd(a *app, runF func(context.Context, *diagnoseOptions) error) *cobra.Command {
	if runF == nil {
		runF = a.diagnose
	}
	o := &diagnoseOptions{}
	cmd := &cobra.Command{
		Use:     "diagnose --redis-url URL",
		Short:   "Look at a server that holds locks: holders, connections, slow log",
		Long:    diagnoseLong,
		Example: diagnoseExample,
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.RedisURL, "redis-url", "", "the server: redis://user@host:6379/0, rediss:// for TLS; password in $"+remote.PasswordEnv)
	f.StringArrayVar(&o.Prefixes, "prefix", nil, "how the keys of your locks begin, repeatable (default: whatever is called like a lock)")
	f.DurationVar(&o.TTL, "ttl", 0, "what your locks ask for: then holds and slow commands are compared with it")
	f.DurationVar(&o.Sample, "sample", 2*time.Second, "for how long the holders are watched")
	f.DurationVar(&o.Timeout, "timeout", time.Minute, "how long all of it may take")
	f.StringArrayVar(&o.Outputs, "output", nil, "FORMAT or FORMAT=PATH, repeatable (default text): "+strings.Join(formatNames(diagnosisFormats()), ", "))
	for _, flag := range []string{"redis-url", "prefix", "ttl", "sample", "timeout"} {
		completeWith(cmd, flag, cobra.NoFileCompletions)
	}
	completeWith(cmd, "output", completeFormats(diagnosisFormats()))
	return cmd
}

// diagnosisFormats are the formats of a diagnosis; they have no Write, because
// they are not about runs.
func diagnosisFormats() []reports.Format {
	return []reports.Format{
		{Name: "text", Ext: "txt", Summary: "the verdict, findings with hints, and tables"},
		{Name: "json", Ext: "json", Summary: "one document (" + diagnose.Schema + ")"},
		{Name: "html", Ext: "html", Summary: "one page that needs nothing else"},
	}
}

func writeDiagnosis(r diagnose.Report) func(output, io.Writer, reports.Options) error {
	return func(o output, w io.Writer, _ reports.Options) error {
		switch o.format.Name {
		case "json":
			return r.JSON(w)
		case "html":
			return r.HTML(w)
		}
		return r.Text(w)
	}
}

// check refuses what can be told to be wrong before anything is asked.
func (o *diagnoseOptions) check() error {
	switch {
	case o.RedisURL == "":
		return hint.Wrap(usagef("--redis-url says which server to look at"), "for example --redis-url redis://user@host:6379/0")
	case o.TTL < 0:
		return usagef("--ttl must be 0 or more, got %s", o.TTL)
	case o.Sample < 0:
		return usagef("--sample must be 0 or more, got %s", o.Sample)
	case o.Timeout <= o.Sample:
		return hint.Wrap(usagef("--timeout %s is no longer than --sample %s", o.Timeout, o.Sample), "raise --timeout")
	case slices.Contains(o.Prefixes, ""):
		return hint.Wrap(usagef("--prefix is empty"), "for example --prefix lock:")
	}
	return nil
}

// diagnose is `oversell diagnose`: ask, and print the page.
func (a *app) diagnose(ctx context.Context, o *diagnoseOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	outs, err := outputsOf(o.Outputs, diagnosisFormats())
	if err != nil {
		return err
	}
	if err := checkPlaces(".", outs); err != nil {
		return err
	}
	client, err := remote.Client("--redis-url", o.RedisURL, a.env(remote.PasswordEnv))
	if err != nil {
		return &codeError{exitUsage, err}
	}
	defer client.Close()
	target, hidden := withoutSecrets(o.RedisURL)
	if hidden {
		a.notes.say("everybody on this machine can read passwords on a command line; $%s keeps them off it", remote.PasswordEnv)
	}
	bounded, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	r, err := diagnose.Examine(bounded, client, diagnose.Options{
		Target: target, Prefixes: o.Prefixes, TTL: o.TTL, Sample: o.Sample, Scan: (o.Timeout - o.Sample) / 2,
	})
	if err != nil {
		return diagnosisFailed(ctx, target, o.Timeout, err)
	}
	if err := a.writeOutputs(outs, false, writeDiagnosis(r)); err != nil {
		return err
	}
	return exitWith(diagnosisCode(r.Verdict))
}

func diagnosisFailed(ctx context.Context, target string, bound time.Duration, err error) error {
	if interrupted(ctx) {
		return orInterrupted(ctx, err)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = hint.Wrap(err, "it took longer than %s: see whether the server answers at all, or raise --timeout", bound)
	}
	return environment(fmt.Errorf("%s: %w", target, remote.Explain(err)))
}

// diagnosisCode is the exit code for a verdict.
func diagnosisCode(v diagnose.Verdict) int {
	switch v {
	case diagnose.Healthy:
		return exitMet
	case diagnose.Ailing:
		return exitViolation
	}
	return exitInconclusive
}
