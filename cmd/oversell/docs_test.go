package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/internal/explore"
	"github.com/oversell/oversell/scenarios"
)

// between is what stands between a page's markers of that name.
func between(t *testing.T, page, name string) string {
	t.Helper()
	data, err := os.ReadFile("../../" + page)
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(data), "<!-- "+name+":begin -->\n")
	require.True(t, found, "%s has no %s", page, name)
	block, _, found := strings.Cut(rest, "<!-- "+name+":end -->")
	require.True(t, found, "%s has no end of %s", page, name)
	return block
}

func TestSchemaIsUpToDate(t *testing.T) {
	t.Parallel()
	want, err := scenarios.Schema()
	require.NoError(t, err)
	got, err := os.ReadFile("../../docs/scenario.schema.json")
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got), "run make docs")
}

// The table itself takes minutes to make; this finds a lock or hazard that it lacks.
func TestExplorePageKnowsAllLocksAndHazards(t *testing.T) {
	t.Parallel()
	a := &app{}
	a.join()
	page, err := os.ReadFile("../../docs/explore.md")
	require.NoError(t, err)
	table := between(t, "docs/explore.md", "explore")
	head, _, _ := strings.Cut(table, "\n")
	for _, h := range explore.Hazards() {
		assert.Contains(t, string(page), "| `"+string(h.Hazard)+"` | "+h.Summary)
		assert.Contains(t, strings.ToLower(head), string(h.Hazard), "run make explore")
	}
	for _, k := range a.kinds {
		assert.Contains(t, table, k.Name, "run make explore")
	}
}

func TestScenariosPageIsUpToDate(t *testing.T) {
	t.Parallel()
	a := &app{}
	a.join()
	var want strings.Builder
	require.NoError(t, writeTables(&want, a.tables([]string{"faults", "hazards", "points"}), "markdown"))
	assert.Equal(t, want.String(), between(t, "docs/scenarios.md", "list"), "run make docs")
}

func TestTheExampleOnTheScenariosPageCanBePlayed(t *testing.T) {
	t.Parallel()
	text := strings.TrimSuffix(strings.TrimPrefix(between(t, "docs/scenarios.md", "example"), "```yaml\n"), "```\n")
	s, err := scenarios.ReadYAML(strings.NewReader(text), "example")
	require.NoError(t, err)
	assert.Equal(t, "reload-and-flush", s.Name)
	for _, field := range []string{"name", "summary", "shape", "load", "steps", "timescale", "minttl", "stallafter", "linger", "requests", "optional"} {
		page, err := os.ReadFile("../../docs/scenarios.md")
		require.NoError(t, err)
		assert.Contains(t, string(page), field)
	}
}
