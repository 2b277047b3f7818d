package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster/embedded"
	"github.com/oversell/oversell/cluster/process"
	"github.com/oversell/oversell/result"
	"github.com/oversell/oversell/scenarios"
)

const exampleFolder = "../../docs/examples/scenarios"

func exampleFile(name string) string { return filepath.Join(exampleFolder, name+".yaml") }

// exampleCases is what comes of each example under some locks, and what else
// the command line needs for that.
var exampleCases = map[string]struct {
	args  []string
	locks map[string]result.Verdict
}{
	"answer-too-late":           {nil, map[string]result.Verdict{"naive": result.Stalled, "lua-release": result.OK}},
	"back-from-partition":       {[]string{"--ttl", "2s"}, map[string]result.Verdict{"renew-unowned": result.Oversold, "lua-watchdog": result.OK}},
	"cancelled-again-and-again": {[]string{"--ttl", "2s"}, map[string]result.Verdict{"lua-watchdog": result.OK}},
	"cancelled-while-held":      {nil, map[string]result.Verdict{"naive": result.OK, "lua-release": result.OK}},
	"one-after-the-other":       {nil, map[string]result.Verdict{"naive": result.OK, "lua-release": result.OK}},
	"overtaken-inside":          {nil, map[string]result.Verdict{"lua-watchdog": result.Oversold, "safe": result.OK}},
	"retried-by-client":         {nil, map[string]result.Verdict{"lua-release": result.Misreported}},
	"sub-second-ttl":            {[]string{"--backend", process.Name}, map[string]result.Verdict{"naive": result.OK, "lua-release": result.OK}},
	"unheard-release":           {[]string{"--ttl", "2s"}, map[string]result.Verdict{"lua-release": result.OK, "lua-watchdog": result.OK}},
}

// TestTheExamplesKeepTheirWord plays every example scenario, each lock by itself.
func TestTheExamplesKeepTheirWord(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(exampleFolder, "*.yaml"))
	require.NoError(t, err)
	require.Len(t, files, len(exampleCases), "every example is played")
	for name, c := range exampleCases {
		for lock, want := range c.locks {
			t.Run(name+"/"+lock, func(t *testing.T) {
				t.Parallel()
				if slices.Contains(c.args, process.Name) {
					needsProcesses(t)
				}
				h := fullHarness()
				dir := t.TempDir()
				args := append([]string{"run", "--all", "-f", exampleFile(name), "--lock", lock, "--backend", embedded.Name, "--allow-simulated", "--dir", dir}, c.args...)
				code := h.exec(t.Context(), args...)
				runs := readMatrixFile(t, dir).Runs()
				require.Len(t, runs, 1, "%s%s", &h.stdout, &h.stderr)
				assert.Equal(t, want, runs[0].Verdict, "%s%s", &h.stdout, &h.stderr)
				if name != "retried-by-client" { // the one that is the client's fault
					assert.Equal(t, exitMet, code, "as the lock claims")
				}
			})
		}
	}
}

// Without the client's retries the lock tells the truth: that it doesn't know.
func TestAClientThatRepeatsNothingIsNoLiar(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(exampleFile("retried-by-client"))
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "once.yaml")
	once := strings.Replace(string(text), "clientretries: 3", "clientretries: 0", 1)
	require.NotEqual(t, string(text), once)
	require.NoError(t, os.WriteFile(file, []byte(once), 0o644))
	h := fullHarness()
	assert.Equal(t, exitMet, h.exec(t.Context(), "run", "-f", file, "--lock", "lua-release", "--backend", "embedded", "--allow-simulated", "--dir", t.TempDir()),
		"%s%s", &h.stdout, &h.stderr)
}

// An example says on top what happens and what to expect, in lines for people.
func TestTheExamplesExplainThemselves(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/scenarios.md")
	require.NoError(t, err)
	for name := range exampleCases {
		text, err := os.ReadFile(exampleFile(name))
		require.NoError(t, err)
		assert.True(t, strings.HasPrefix(string(text), "# "), name)
		assert.Contains(t, string(text), "\n# Expect: ", name)
		assert.Contains(t, string(page), "(examples/scenarios/"+name+".yaml)", "docs/scenarios.md lists it")
		s, err := scenarios.ReadYAML(strings.NewReader(string(text)), name)
		require.NoError(t, err)
		assert.Equal(t, name, s.Name)
	}
}
