package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
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

// blocks are the fenced blocks of a page in a language.
func blocks(page, language string) []string {
	var found []string
	for _, rest := range strings.Split(page, "```"+language+"\n")[1:] {
		block, _, _ := strings.Cut(rest, "```")
		found = append(found, block)
	}
	return found
}

// Whatever a page, an example or the action runs must be a command that there is.
func TestCommandsOfTheDocumentationCanBeRead(t *testing.T) {
	t.Parallel()
	read := func(path string) string {
		data, err := os.ReadFile("../../" + path)
		require.NoError(t, err)
		return string(data)
	}
	var job map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(read("docs/examples/gitlab-ci.yml")), &job))
	commands := strings.Join(blocks(read("docs/ci.md"), "sh"), "\n") + read("docs/examples/gitlab-ci.yml")
	line := regexp.MustCompile(`(?m)\boversell ((?:run|check|explore|man)\b.*)$`)
	seen := 0
	for _, m := range line.FindAllStringSubmatch(commands, -1) {
		seen++
		a := &app{env: func(string) string { return "" }}
		a.join()
		cmd, args, err := newRootCmd(a).Find(strings.Fields(m[1]))
		require.NoError(t, err, m[0])
		require.NoError(t, cmd.ParseFlags(args), m[0])
		if f := cmd.Flags().Lookup("output"); f != nil {
			outputs, err := cmd.Flags().GetStringArray("output")
			require.NoError(t, err)
			_, err = a.parseOutputs(outputs)
			require.NoError(t, err, m[0])
		}
	}
	assert.GreaterOrEqual(t, seen, 6)
}

func TestTheMappingOnThePageIsTheExample(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("../../docs/examples/shop.yaml")
	require.NoError(t, err)
	assert.Equal(t, "```yaml\n"+string(want)+"```\n", between(t, "docs/ci.md", "mapping"))
}

// The action hands its inputs over as variables, never as text of a script.
func TestTheActionHandsOverItsInputs(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../action.yml")
	require.NoError(t, err)
	var action struct {
		Inputs map[string]struct {
			Description string
			Default     string
		}
		Outputs map[string]struct{ Description, Value string }
		Runs    struct {
			Using string
			Steps []struct {
				ID, Name, Uses, Shell, Run, If string
				WorkingDirectory               string `yaml:"working-directory"`
				Env, With                      map[string]string
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(data, &action))
	assert.Equal(t, "composite", action.Runs.Using)
	script, err := os.ReadFile("../../scripts/action.sh")
	require.NoError(t, err)
	page, err := os.ReadFile("../../docs/ci.md")
	require.NoError(t, err)
	var used string
	for _, s := range action.Runs.Steps {
		assert.NotContains(t, s.Run, "${{", "an input within a script could run commands")
		assert.Equal(t, s.Run != "", s.Shell != "", "a step that runs something names its shell")
		used += s.If
		for name, value := range s.Env {
			assert.Contains(t, string(script), "${"+name, "the script doesn't read it")
			used += value
		}
		for _, value := range s.With {
			used += value
		}
	}
	for name, in := range action.Inputs {
		assert.Contains(t, used, "inputs."+name, "nothing uses it")
		assert.NotEmpty(t, in.Description, name)
		assert.Contains(t, string(page), "| `"+name+"` |", "docs/ci.md doesn't explain it")
	}
	for name := range action.Outputs {
		assert.Contains(t, string(script), name+"=", "the script doesn't tell it")
	}
}
