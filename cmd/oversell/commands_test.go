package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/internal/doctor"
)

func TestListJSON(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	require.Equal(t, exitMet, h.exec(t.Context(), "list", "--output", "json"))
	var doc struct {
		Scenarios []scenarioItem
		Locks     []lockItem
		Faults    []faultItem
	}
	require.NoError(t, json.Unmarshal(h.stdout.Bytes(), &doc))
	assert.Equal(t, "ttl-expiry", doc.Scenarios[0].Name)
	assert.Equal(t, int64(300), doc.Scenarios[0].TTLMS)
	assert.Equal(t, "safe", doc.Locks[2].Alias)
	assert.NotNil(t, doc.Faults, "an empty list is a list")

	require.Equal(t, exitMet, h.exec(t.Context(), "list", "locks", "--output", "json"))
	var some map[string]any
	require.NoError(t, json.Unmarshal(h.stdout.Bytes(), &some))
	assert.Len(t, some, 1)
}

func TestListText(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	require.Equal(t, exitMet, h.exec(t.Context(), "list", "locks"))
	assert.Equal(t, `LOCK              ALIAS  HOW IT LOCKS     WITHSTANDS
setnx-expire-del  naive  broken
lua-watchdog             renews | or not  slow-call
fenced            safe   fenced           slow-call, lost-master
`, h.stdout.String())
	require.Equal(t, exitMet, h.exec(t.Context(), "list", "locks", "--output", "markdown"))
	assert.Contains(t, h.stdout.String(), "| `lua-watchdog` |  | renews \\| or not | slow-call |\n")
	assert.Equal(t, exitUsage, h.exec(t.Context(), "list", "lock"))
	assert.Contains(t, h.stderr.String(), `hint: did you mean "locks"?`)
}

// sweeps is a sweeper that finds things until they are cleaned.
func sweeps(name string, things []string, looking, cleaning error) sweeper {
	return sweeper{
		name:      name,
		leftovers: func(context.Context) ([]string, error) { return things, looking },
		clean: func(context.Context) ([]string, error) {
			cleaned := things
			things = nil
			return cleaned, cleaning
		},
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.sweepers = []sweeper{
		sweeps("docker", nil, errors.New("the daemon is down"), nil),
		sweeps("process", []string{"folder a", "folder b"}, nil, nil),
	}
	assert.Equal(t, exitMet, h.exec(t.Context(), "clean", "--dry-run"))
	assert.Equal(t, "would remove folder a\nwould remove folder b\n", h.stdout.String())
	assert.Equal(t, exitMet, h.exec(t.Context(), "clean"))
	assert.Equal(t, "removed folder a\nremoved folder b\n", h.stdout.String())
	assert.Equal(t, "docker: not looked at: the daemon is down\n", h.stderr.String())
	assert.Equal(t, exitMet, h.exec(t.Context(), "clean"))
	assert.Equal(t, "nothing to remove\n", h.stdout.String())

	h.sweepers = append(h.sweepers, sweeps("other", nil, nil, errors.New("permission denied")))
	assert.Equal(t, exitEnvironment, h.exec(t.Context(), "clean"))
	assert.Contains(t, h.stderr.String(), "error: other: permission denied\n")
	assert.Empty(t, h.stdout.String(), "it doesn't say that all is well")
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	dir := t.TempDir()
	assert.Equal(t, exitMet, h.exec(t.Context(), "doctor", "--dir", dir))
	assert.Contains(t, h.stdout.String(), "ok    docker backend    docker is here\n")
	assert.Contains(t, h.stdout.String(), "warn  embedded backend  embedded is here; its results are simulated\n")
	assert.Contains(t, h.stdout.String(), "ok    run folder        "+dir+" can be written\n")

	h.backends = h.backends[1:]
	assert.Equal(t, exitEnvironment, h.exec(t.Context(), "doctor", "--json"))
	var report doctor.Report
	require.NoError(t, json.Unmarshal(h.stdout.Bytes(), &report))
	assert.False(t, report.Usable, "simulated servers aren't enough")
	assert.Empty(t, h.stderr.String())
}

func TestRootIsHelpful(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	assert.Equal(t, exitMet, h.exec(t.Context()))
	assert.Contains(t, h.stdout.String(), "Usage:")
	assert.Equal(t, exitUsage, h.exec(t.Context(), "rnu"))
	assert.Equal(t, "error: unknown command \"rnu\"\nhint: did you mean \"run\"?\n", h.stderr.String())
	assert.Equal(t, exitUsage, h.exec(t.Context(), "help", "exit-code"))
	assert.Equal(t, "error: unknown help topic \"exit-code\"\nhint: did you mean \"exit-codes\"?\n", h.stderr.String())
	assert.Equal(t, exitUsage, h.exec(t.Context(), "version", "now"))
	assert.Contains(t, h.stderr.String(), `error: oversell version takes no arguments, got "now"`)
}

func TestConclude(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	assert.Equal(t, exitMet, conclude(&h.stderr, nil))
	assert.Equal(t, exitViolation, conclude(&h.stderr, exitWith(exitViolation)))
	assert.Empty(t, h.stderr.String(), "the report has told it already")
	assert.Equal(t, exitInternal, conclude(&h.stderr, errors.New("boom")))
	assert.Equal(t, "error: boom\n", h.stderr.String())
	assert.NoError(t, environment(nil))
}

// The README is written by hand where it isn't generated: what it says of the
// lists and of the exit codes must be what the program says.
func TestREADMEIsUpToDate(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	readme := string(data)
	for _, c := range exitCodes {
		assert.Contains(t, readme, fmt.Sprintf("\n| %d | %s |\n", c.Code, c.Meaning))
	}
	_, rest, found := strings.Cut(readme, "<!-- list:begin -->\n")
	require.True(t, found)
	block, _, found := strings.Cut(rest, "<!-- list:end -->")
	require.True(t, found)
	a := &app{}
	a.join()
	var want strings.Builder
	require.NoError(t, writeTables(&want, a.tables(nil), "markdown"))
	assert.Equal(t, want.String(), block, "run make docs")
}

func TestListsAreWhole(t *testing.T) {
	t.Parallel()
	a := &app{}
	a.join()
	names := map[string]string{}
	unique := func(what, name, summary string) {
		assert.NotEmpty(t, summary, "%s %s", what, name)
		assert.NotContains(t, name, " ")
		assert.Empty(t, names[what+name], "%s %q is listed twice", what, name)
		names[what+name] = what
	}
	for _, s := range a.scenarios {
		unique("scenario", s.Name, s.Summary)
		assert.NotEqual(t, everyScenario, s.Name, "that word means all of them")
	}
	for _, k := range a.kinds {
		unique("lock", k.Name, k.Summary)
		if k.Alias != "" {
			unique("lock", k.Alias, k.Summary)
		}
	}
	for _, f := range a.faults {
		unique("fault", f.Name(), f.Summary())
	}
	for _, f := range a.formats {
		unique("format", f.Name, f.Summary)
	}
	for _, c := range a.checks {
		unique("check", c.Name, c.Summary)
	}
	assert.Contains(t, a.scenarioNames(), defaultScenario)
	for _, alias := range []string{"naive", "safe"} {
		_, err := a.findKind(alias)
		assert.NoError(t, err, "the default of --lock")
	}
}
