package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/result"
)

func ptr[T any](v T) *T { return &v }

// options are those of a bare `oversell run`.
func options(t *testing.T, change ...func(*runOptions)) *runOptions {
	o := &runOptions{
		Locks: []string{"naive", "safe"}, Backend: autoBackend, Trials: 1,
		Dir: filepath.Join(t.TempDir(), "runs"), Color: "auto",
	}
	for _, c := range change {
		c(o)
	}
	return o
}

func TestPlanOfABareRun(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	p, err := h.plan(options(t))
	require.NoError(t, err)
	require.Len(t, p.jobs, 2)
	assert.Equal(t, "ttl-expiry", p.jobs[0].Scenario.Name)
	assert.Equal(t, "setnx-expire-del", p.jobs[0].Kind.Name)
	assert.Equal(t, "fenced", p.jobs[1].Kind.Name)
	assert.Equal(t, 100, p.jobs[0].Scenario.Load.Stock, "the scenario's own load")
	assert.Equal(t, p.seed, p.jobs[0].Seed)
	assert.Equal(t, p.seed, p.jobs[1].Seed, "every lock gets the same")
	assert.Equal(t, "text", p.outputs[0].format.Name)

	again, err := h.plan(options(t))
	require.NoError(t, err)
	assert.NotEqual(t, p.seed, again.seed, "a seed that isn't given is drawn")
}

func TestPlanAppliesWhatIsGiven(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	p, err := h.plan(options(t, func(o *runOptions) {
		o.Scenarios = []string{"sentinel-failover", everyScenario}
		o.Locks = []string{"safe", "fenced", "lua-watchdog"}
		o.Stock, o.Instances, o.Buyers, o.TTL = ptr(7), ptr(2), ptr(9), ptr(time.Second)
		o.Seed, o.Trials = ptr(int64(0)), 3
		o.Expect = []string{"safe=ok", "lua-watchdog=oversold"}
	}))
	require.NoError(t, err)
	require.Len(t, p.jobs, 4, "each scenario and each lock once")
	assert.Equal(t, "ttl-expiry", p.jobs[0].Scenario.Name, "in the order of the list")
	assert.Equal(t, "sentinel-failover", p.jobs[2].Scenario.Name)
	for _, j := range p.jobs {
		l := j.Scenario.Load
		assert.Equal(t, []int{7, 2, 9}, []int{l.Stock, l.Instances, l.Buyers})
		assert.Equal(t, time.Second, l.TTL)
		assert.Equal(t, int64(0), j.Seed, "zero is a seed like any other")
		assert.Equal(t, 3, j.Trials)
	}
	assert.Equal(t, result.ExpectOK, p.jobs[0].Expect)
	assert.Equal(t, result.Expectation(result.Oversold), p.jobs[1].Expect)
	assert.Equal(t, 100, h.scenarios[0].Load.Stock, "the list itself stays as it is")
}

func TestPlanRefuses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	for name, tc := range map[string]struct {
		change func(*runOptions)
		code   int
		text   string
		hint   string
	}{
		"unknown scenario":   {func(o *runOptions) { o.Scenarios = []string{"tll-expiry"} }, exitUsage, `unknown scenario "tll-expiry"`, `did you mean "ttl-expiry"?`},
		"unknown lock":       {func(o *runOptions) { o.Locks = []string{"saef"} }, exitUsage, `unknown lock "saef"`, `did you mean "safe"?`},
		"an empty alias":     {func(o *runOptions) { o.Locks = []string{""} }, exitUsage, `unknown lock ""`, "choose from setnx-expire-del, naive, lua-watchdog, fenced, safe"},
		"no lock":            {func(o *runOptions) { o.Locks = nil }, exitUsage, "--lock names no lock", "choose from setnx-expire-del, naive, lua-watchdog, fenced, safe"},
		"unknown backend":    {func(o *runOptions) { o.Backend = "dokcer" }, exitUsage, `unknown backend "dokcer"`, `did you mean "docker"?`},
		"unknown version":    {func(o *runOptions) { o.Redis = []string{"8.7"} }, exitUsage, `unknown value of --redis "8.7"`, `did you mean "8.0"?`},
		"unknown colour":     {func(o *runOptions) { o.Color = "allways" }, exitUsage, `unknown value of --color "allways"`, `did you mean "always"?`},
		"unknown format":     {func(o *runOptions) { o.Outputs = []string{"jason"} }, exitUsage, `unknown output format "jason"`, `did you mean "json"?`},
		"unknown verdict":    {func(o *runOptions) { o.Expect = []string{"naive=oversolt"} }, exitUsage, `unknown verdict "oversolt"`, `did you mean "oversold"?`},
		"inconclusive":       {func(o *runOptions) { o.Expect = []string{"naive=inconclusive"} }, exitUsage, `unknown verdict "inconclusive"`, "choose from ok, not-ok, oversold, mismatch, stalled, leaked, misreported"},
		"an odd expectation": {func(o *runOptions) { o.Expect = []string{"naive"} }, exitUsage, `--expect "naive" is not LOCK=VERDICT`, "for example --expect naive=oversold"},
		"another's verdict":  {func(o *runOptions) { o.Expect = []string{"lua-watchdog=ok"} }, exitUsage, `--expect names the lock "lua-watchdog", which isn't run`, "add it to --lock"},
		"two minds":          {func(o *runOptions) { o.Expect = []string{"naive=ok", "setnx-expire-del=stalled"} }, exitUsage, "--expect says both ok and stalled of the lock setnx-expire-del", ""},
		"no stock":           {func(o *runOptions) { o.Stock = ptr(0) }, exitUsage, "--stock must be at least 1, got 0", ""},
		"negative instances": {func(o *runOptions) { o.Instances = ptr(-1) }, exitUsage, "--instances must be at least 1, got -1", ""},
		"no buyers":          {func(o *runOptions) { o.Buyers = ptr(0) }, exitUsage, "--buyers must be at least 1, got 0", ""},
		"no trials":          {func(o *runOptions) { o.Trials = 0 }, exitUsage, "--trials must be at least 1, got 0", ""},
		"no TTL":             {func(o *runOptions) { o.TTL = ptr(time.Duration(0)) }, exitUsage, "--ttl must be more than 0, got 0s", ""},
		"a short TTL":        {func(o *runOptions) { o.TTL = ptr(time.Millisecond) }, exitUsage, "--ttl 1ms is too short for ttl-expiry: at least 50ms", "below that a busy machine decides the outcome, not the lock"},
		"idle instances":     {func(o *runOptions) { o.Buyers = ptr(5) }, exitUsage, "--instances 6 is more than --buyers 5", "every instance needs at least one buyer"},
		"too many instances": {func(o *runOptions) { o.Instances = ptr(190) }, exitUsage, "--instances 190 is more than this machine can carry: 128 at most, as 2 CPUs carry 64 each", "ask for at most 128 instances with 200 buyers"},
		"too many buyers":    {func(o *runOptions) { o.Buyers = ptr(5000) }, exitUsage, "--buyers 5000 is more than this machine can carry: 0 at most, as 5000 buyers need 2 descriptors each, every instance 16 more, and a process may have 4096 open", "ask for fewer buyers, or raise the limit"},
		"no folder":          {func(o *runOptions) { o.Dir = "" }, exitUsage, "--dir must name a folder", ""},
		"a file as folder":   {func(o *runOptions) { o.Dir = file }, exitEnvironment, "--dir " + file + ": " + file + " is not a folder", "choose a folder that can be written, for example --dir /tmp/runs"},
		"a report in a file": {func(o *runOptions) { o.Outputs = []string{"json=" + file + "/x.json"} }, exitEnvironment, "--output json=" + file + "/x.json: " + file + " is not a folder", "choose a folder that can be written"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := newHarness(t).plan(options(t, tc.change))
			assert.EqualError(t, err, tc.text)
			assert.Equal(t, tc.hint, hint.Of(err))
			assertCode(t, tc.code, err)
		})
	}
}

func TestCommandRepeatsTheInvocation(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	o := options(t, func(o *runOptions) {
		o.Seed, o.Dir = ptr(int64(42)), defaultDir
		o.Outputs = []string{"json=" + filepath.Join(t.TempDir(), "out.json")}
	})
	p, err := h.plan(o)
	require.NoError(t, err)
	assert.Equal(t, "oversell run ttl-expiry --lock naive,safe --backend docker --seed 42", h.command(o, p, "docker"))

	o = options(t, func(o *runOptions) {
		o.Scenarios, o.Locks, o.Redis = []string{everyScenario}, []string{"lua-watchdog"}, []string{"8.0"}
		o.Stock, o.Instances, o.Buyers, o.TTL = ptr(7), ptr(2), ptr(9), ptr(1500*time.Millisecond)
		o.Seed, o.Trials, o.AllowSimulated = ptr(int64(-1)), 3, true
		o.Expect = []string{"lua-watchdog=ok"}
	})
	p, err = h.plan(o)
	require.NoError(t, err)
	o.Dir = "it's here"
	assert.Equal(t, "oversell run ttl-expiry sentinel-failover --lock lua-watchdog --backend process --redis 8.0"+
		" --stock 7 --instances 2 --buyers 9 --ttl 1.5s --trials 3 --seed -1"+
		` --expect lua-watchdog=ok --dir 'it'\''s here' --allow-simulated`, h.command(o, p, "process"))
}

func TestProgramName(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "bin/oversell", programName("bin/oversell"))
	assert.Equal(t, "oversell", programName("/home/someone/bin/oversell"), "no machine's paths in reports")
	assert.Equal(t, "oversell", programName(""))
}
