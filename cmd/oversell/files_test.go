package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/scenarios"
)

// own writes a scenario to a file, under another name and with some text replaced.
func own(t *testing.T, name, before, after string) string {
	t.Helper()
	s := scenarios.All()[0]
	s.Name = name
	text, err := scenarios.MarshalYAML(s)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), name+".yaml")
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(text), before, after, 1)), 0o644))
	return path
}

func TestOwnScenarioIsPlayedLikeAnyOther(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	mine := own(t, "mine", "stock: 100", "stock: 42")
	require.Equal(t, exitMet, h.exec(t.Context(), "run", "-f", mine, "--lock", "safe", "--ttl", "1s", "--dir", t.TempDir()), "stderr: %s", &h.stderr)
	require.Len(t, h.player.jobs, 1, "and the default scenario isn't")
	j := h.player.jobs[0]
	assert.Equal(t, "mine", j.Scenario.Name)
	assert.Equal(t, 42, j.Scenario.Load.Stock)
	assert.Equal(t, time.Second, j.Scenario.Load.TTL)
	assert.Contains(t, j.Command, "oversell run -f "+mine+" --lock safe ")

	h = newHarness(t)
	require.Equal(t, exitMet, h.exec(t.Context(), "run", "ttl-expiry", "-f", mine, "-f", own(t, "yours", "", ""), "--lock", "safe", "--dir", t.TempDir()))
	require.Len(t, h.player.jobs, 3)
	assert.Contains(t, h.player.jobs[0].Command, "oversell run ttl-expiry -f "+mine+" -f ")
}

func TestOwnScenarioThatCantBe(t *testing.T) {
	t.Parallel()
	bad := own(t, "mine", "stock: 100", "stokc: 100")
	for _, tc := range []struct {
		args []string
		text string
	}{
		{[]string{"-f", bad}, bad + `:6:3: unknown field "stokc"`},
		{[]string{"-f", own(t, "ttl-expiry", "", ""), "ttl-expiry"}, "two scenarios are called ttl-expiry, one of them in "},
		{[]string{"-f", own(t, "mine", "buyers: 200", "buyers: 200\n  requests: 101"), "--stock", "101"}, "--stock 101 is too much for mine: 101 are wanted in all"},
	} {
		h := newHarness(t)
		assert.Equal(t, exitUsage, h.exec(t.Context(), append([]string{"run", "--dir", t.TempDir()}, tc.args...)...))
		assert.Contains(t, h.stderr.String(), "error: "+tc.text)
		assert.Contains(t, h.stderr.String(), "hint: ")
		assert.Empty(t, h.player.jobs)
	}
}

func TestEveryVersionIsPlayed(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	require.Equal(t, exitMet, h.exec(t.Context(), "run", "--redis", "7.0", "--redis", "8.0,valkey-9.1", "--lock", "safe", "--dir", t.TempDir()))
	var versions []string
	for _, j := range h.player.jobs {
		versions = append(versions, j.Redis)
	}
	assert.Equal(t, []string{"7.0", "8.0", "valkey-9.1"}, versions)
	assert.Equal(t, "7.0", h.player.config.Redis, "the inventory's")
	assert.Contains(t, h.player.jobs[0].Command, "--redis 7.0,8.0,valkey-9.1")
}
