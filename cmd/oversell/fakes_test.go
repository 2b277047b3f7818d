package main

import (
	"bytes"
	"context"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/internal/doctor"
	"github.com/oversell/oversell/internal/engine"
	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/reports"
	"github.com/oversell/oversell/result"
	"github.com/oversell/oversell/scenarios"
)

// fakeBackend answers a probe and starts nothing.
type fakeBackend struct {
	name   string
	err    error           // of Probe
	silent bool            // Probe only answers when its context ends
	lacks  []cluster.Shape // not supported
	fake   bool            // not real
}

func (b *fakeBackend) Name() string { return b.name }
func (b *fakeBackend) Real() bool   { return !b.fake }

func (b *fakeBackend) Probe(ctx context.Context, version string) (string, error) {
	if b.silent {
		<-ctx.Done()
		return "", ctx.Err()
	}
	return b.name + " is here", b.err
}

func (b *fakeBackend) Supports(s cluster.Shape) error {
	if slices.Contains(b.lacks, s) {
		return errNoShape(b.name + " has no " + string(s))
	}
	return nil
}

func (b *fakeBackend) Start(context.Context, cluster.Spec) (*cluster.Cluster, error) {
	panic("a fake backend starts nothing")
}

type errNoShape string

func (e errNoShape) Error() string { return string(e) }

// fakePlayer plays jobs without servers.
type fakePlayer struct {
	config engine.Config
	jobs   []engine.Job
	closed int

	unavailable map[string]error // by scenario
	run         func(ctx context.Context, j engine.Job) (result.Run, error)
	closeErr    error
}

func (p *fakePlayer) Available(j engine.Job) error { return p.unavailable[j.Scenario.Name] }

func (p *fakePlayer) Run(ctx context.Context, j engine.Job) (result.Run, error) {
	p.jobs = append(p.jobs, j)
	return p.run(ctx, j)
}

func (p *fakePlayer) Close(context.Context) error {
	p.closed++
	return p.closeErr
}

// asClaimed is the outcome in which every lock does what it claims.
func asClaimed(_ context.Context, j engine.Job) (result.Run, error) {
	r := result.Run{
		Scenario: j.Scenario.Name, Hazard: j.Scenario.Hazard, Lock: j.Kind.Name, Alias: j.Kind.Alias,
		Expected: j.Kind.Expected(j.Scenario.Hazard), Verdict: result.Oversold, Command: j.Command, Seed: j.Seed,
		Dir: "runs/" + j.Scenario.Name + "-" + j.Kind.Name,
	}
	if j.Expect != "" {
		r.Expected = j.Expect
	}
	if j.Kind.Survives(j.Scenario.Hazard) {
		r.Verdict = result.OK
	}
	r.Gate = r.Expected.Judge(r.Verdict)
	return r, nil
}

// harness is an app with lists of its own, and what it has printed.
type harness struct {
	*app
	stdout, stderr bytes.Buffer
	player         *fakePlayer
	environment    map[string]string
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	h := &harness{player: &fakePlayer{run: asClaimed}, environment: map[string]string{}}
	load := scenarios.Load{Stock: 100, Instances: 6, Buyers: 200, TTL: 300 * time.Millisecond, MinTTL: 50 * time.Millisecond}
	h.app = &app{
		in: bytes.NewReader(nil), out: &h.stdout, err: &h.stderr, notes: &notes{w: &h.stderr},
		env:     func(name string) string { return h.environment[name] },
		machine: func() doctor.Machine { return doctor.Machine{CPUs: 2, MemoryMB: 8000, Files: 4096} },
		program: "oversell",
		scenarios: []scenarios.Scenario{
			{Name: "ttl-expiry", Summary: "the call is slow", Hazard: result.SlowCall, Shape: cluster.Single, Load: load},
			{Name: "sentinel-failover", Summary: "the master dies", Hazard: result.LostMaster, Shape: cluster.Sentinel, Load: load},
		},
		kinds: []locks.Kind{
			{Name: "setnx-expire-del", Alias: "naive", Summary: "broken"},
			{Name: "lua-watchdog", Summary: "renews | or not", Withstands: []result.Hazard{result.SlowCall}},
			{Name: "fenced", Alias: "safe", Summary: "fenced", Withstands: []result.Hazard{result.SlowCall, result.LostMaster}},
		},
		faults:   []faults.Fault{},
		formats:  []reports.Format{shortFormat("text", "txt"), shortFormat("json", "json"), shortFormat("junit", "xml")},
		backends: []cluster.Backend{&fakeBackend{name: "docker"}, &fakeBackend{name: "embedded", fake: true, lacks: []cluster.Shape{cluster.Sentinel}}},
		newEngine: func(c engine.Config) player {
			h.player.config = c
			return h.player
		},
	}
	return h
}

// shortFormat writes a line per run.
func shortFormat(name, ext string) reports.Format {
	return reports.Format{Name: name, Ext: ext, Summary: name, Write: func(w io.Writer, runs []result.Run, _ reports.Options) error {
		for _, r := range runs {
			if _, err := io.WriteString(w, name+": "+r.Scenario+" "+r.Lock+" "+string(r.Gate)+"\n"); err != nil {
				return err
			}
		}
		return nil
	}}
}

// exec runs a command line and returns the exit code.
func (h *harness) exec(ctx context.Context, args ...string) int {
	h.stdout.Reset()
	h.stderr.Reset()
	root := newRootCmd(h.app)
	root.SetArgs(args)
	return conclude(&h.stderr, root.ExecuteContext(ctx))
}
