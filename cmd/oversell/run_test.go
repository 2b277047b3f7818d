package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/internal/engine"
	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/result"
)

// parse runs the run command with its play taken out and returns what the
// flags said.
func parse(t *testing.T, args ...string) (*runOptions, error) {
	t.Helper()
	var got *runOptions
	cmd := newRunCmd(newHarness(t).app, func(_ context.Context, o *runOptions) error {
		got = o
		got.given = nil // told by the values
		return nil
	})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetFlagErrorFunc(flagError)
	cmd.SetArgs(args)
	return got, cmd.Execute()
}

func TestRunFlags(t *testing.T) {
	t.Parallel()
	o, err := parse(t)
	require.NoError(t, err)
	assert.Equal(t, &runOptions{
		Locks: []string{"naive", "safe"}, Backend: "auto", Trials: 1, Dir: "runs", Color: "auto",
		baselineOptions: baselineOptions{FailOn: "all"},
	}, o, "nothing is set that wasn't given")

	o, err = parse(t, "a", "--scenario", "b,c", "--lock", "x,y", "--lock=z", "--backend", "docker", "--redis", "8.0",
		"--stock", "1", "--instances", "2", "--buyers", "3", "--ttl", "4s", "--seed", "0", "--trials", "5", "--dir", "d",
		"--output", "json", "--output", "junit=a,b.xml", "--expect", "x=ok", "--allow-simulated", "--color", "never")
	require.NoError(t, err)
	assert.Equal(t, &runOptions{
		Scenarios: []string{"a", "b", "c"}, Locks: []string{"x", "y", "z"}, Backend: "docker", Redis: []string{"8.0"},
		Stock: ptr(1), Instances: ptr(2), Buyers: ptr(3), TTL: ptr(4 * time.Second), Seed: ptr(int64(0)), Trials: 5, Dir: "d",
		Outputs: []string{"json", "junit=a,b.xml"}, Expect: []string{"x=ok"}, AllowSimulated: true, Color: "never",
		baselineOptions: baselineOptions{FailOn: "all"},
	}, o)
}

func TestRunFlagErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		arg, text, hint string
	}{
		{"--stok=3", "unknown flag: --stok", "did you mean --stock?"},
		{"--stock=many", `--stock: "many" is no whole number`, "see run --help"},
		{"--ttl=2", `--ttl: "2" is no duration such as 500ms or 2s`, "see run --help"},
		{"--lock", "flag needs an argument: --lock", "see run --help"},
	} {
		_, err := parse(t, tc.arg)
		assert.EqualError(t, err, tc.text)
		assert.Equal(t, tc.hint, hint.Of(err))
		assertCode(t, exitUsage, err)
	}
}

func TestRunReportsAndExits(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	dir := t.TempDir()
	code := h.exec(t.Context(), "run", "all", "--seed", "7", "--dir", filepath.Join(dir, "runs"), "--output", "text", "--output", "json="+filepath.Join(dir, "deep", "out.json"))
	assert.Equal(t, exitMet, code, "stderr: %s", &h.stderr)
	want := ": ttl-expiry setnx-expire-del pass\n%[1]s: ttl-expiry fenced pass\n%[1]s: sentinel-failover setnx-expire-del pass\n%[1]s: sentinel-failover fenced pass\n"
	assert.Equal(t, fmt.Sprintf("%[1]s"+want, "text"), h.stdout.String(), "stdout has the results and nothing else")
	written, err := os.ReadFile(filepath.Join(dir, "deep", "out.json"))
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprintf("%[1]s"+want, "json"), string(written))
	assert.Contains(t, h.stderr.String(), "backend docker: docker is here\nseed 7\n")
	assert.Equal(t, 1, h.player.closed)
	assert.Equal(t, "docker", h.player.config.Backend.Name())
	assert.Equal(t, filepath.Join(dir, "runs"), h.player.config.Dir)
	for _, j := range h.player.jobs {
		assert.Contains(t, j.Command, "oversell run ttl-expiry sentinel-failover --lock naive,safe --backend docker --seed 7")
	}

	dirFlag := "--dir=" + dir
	assert.Equal(t, exitViolation, h.exec(t.Context(), "run", dirFlag, "--expect", "naive=ok"))
	assert.Equal(t, exitUsage, h.exec(t.Context(), "run", dirFlag, "--lock", "saef"))
	assert.Equal(t, exitInconclusive, func() int {
		h.player.run = func(ctx context.Context, j engine.Job) (result.Run, error) {
			r, err := asClaimed(ctx, j)
			r.Gate = result.GateUnresolved
			return r, err
		}
		return h.exec(t.Context(), "run", dirFlag)
	}())
}

func TestRunSkipsWhatTheBackendCant(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	dir := "--dir=" + t.TempDir()
	h.player.unavailable = map[string]error{"sentinel-failover": errors.New("no sentinels")}
	assert.Equal(t, exitMet, h.exec(t.Context(), "run", "all", dir))
	assert.Len(t, h.player.jobs, 2, "the other scenario is played")
	assert.Contains(t, h.stderr.String(), "skipped sentinel-failover under fenced: no sentinels\n")

	assert.Equal(t, exitEnvironment, h.exec(t.Context(), "run", "sentinel-failover", dir))
	assert.Contains(t, h.stderr.String(), "error: nothing could be played on the docker backend\nhint: ")
	assert.Empty(t, h.stdout.String())
}

func TestRunThatBreaksDown(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	dir := "--dir=" + t.TempDir()
	broken := errors.New("start redis: it died")
	h.player.run = func(ctx context.Context, j engine.Job) (result.Run, error) {
		if j.Kind.Name == "fenced" {
			return result.Run{}, broken
		}
		return asClaimed(ctx, j)
	}
	assert.Equal(t, exitInternal, h.exec(t.Context(), "run", dir))
	assert.Contains(t, h.stderr.String(), "kept: runs/ttl-expiry-setnx-expire-del\nerror: ttl-expiry under fenced: start redis: it died\n")
	assert.Empty(t, h.stdout.String(), "half a result is no result")
	assert.Equal(t, 1, h.player.closed, "what was started is removed all the same")

	broken = hint.Wrap(broken, "look at its log")
	assert.Equal(t, exitEnvironment, h.exec(t.Context(), "run", dir))
	assert.Contains(t, h.stderr.String(), "hint: look at its log\n")
}

func TestRunThatCantCleanUp(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.player.closeErr = errors.New("a container stays")
	assert.Equal(t, exitEnvironment, h.exec(t.Context(), "run", "--dir", t.TempDir()))
	assert.Contains(t, h.stderr.String(), "error: remove what was started: a container stays\nhint: oversell clean tries again\n")
	assert.Contains(t, h.stdout.String(), "setnx-expire-del pass", "what was played is told all the same")

	h = newHarness(t)
	h.player.closeErr = errors.New("a container stays")
	assert.Equal(t, exitViolation, h.exec(t.Context(), "run", "--lock", "naive", "--expect", "naive=ok", "--dir", t.TempDir()), "the gate counts more")
	assert.Contains(t, h.stderr.String(), "remove what was started: a container stays (oversell clean tries again)\n")
	assert.Contains(t, h.stdout.String(), "setnx-expire-del fail")
}

func TestRunInterrupted(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	h.player.run = func(ctx context.Context, _ engine.Job) (result.Run, error) {
		cancel(errInterrupted)
		<-ctx.Done()
		return result.Run{}, fmt.Errorf("interrupted; kept in runs/x: %w", context.Cause(ctx))
	}
	assert.Equal(t, exitInterrupted, h.exec(ctx, "run", "--dir", t.TempDir()))
	assert.Equal(t, 1, h.player.closed)
	assert.Contains(t, h.stderr.String(), "error: ttl-expiry under setnx-expire-del: interrupted; kept in runs/x: a signal came\n")
	assert.Empty(t, h.stdout.String())

	h.player.run = func(ctx context.Context, _ engine.Job) (result.Run, error) {
		return result.Run{}, fmt.Errorf("sell: %w", ctx.Err())
	}
	assert.Equal(t, exitInterrupted, h.exec(ctx, "run", "--dir", t.TempDir(), "--backend", "docker"))
	assert.Contains(t, h.stderr.String(), "error: interrupted\n")
}

func TestRunSaysWhereColoursGo(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		flag string
		tty  bool
		env  map[string]string
		want bool
	}{
		{"auto", true, nil, true},
		{"auto", false, nil, false},
		{"auto", true, map[string]string{"NO_COLOR": "1"}, false},
		{"auto", true, map[string]string{"TERM": "dumb"}, false},
		{"always", false, map[string]string{"NO_COLOR": "1"}, true},
		{"never", true, nil, false},
	} {
		h := newHarness(t)
		h.outTTY, h.environment = tc.tty, tc.env
		got, err := h.colors(tc.flag)
		require.NoError(t, err)
		assert.Equal(t, tc.want, got, "%+v", tc)
	}
}

func TestCIIsWhatBuildServersSay(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for value, want := range map[string]bool{"": false, "0": false, "false": false, "true": true, "1": true, "woodpecker": true} {
		h.environment["CI"] = value
		assert.Equal(t, want, h.ci(), "CI=%s", value)
	}
}
