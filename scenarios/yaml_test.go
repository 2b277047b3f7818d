package scenarios_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/scenarios"
)

func TestEveryScenarioReadsBackAsItWasWritten(t *testing.T) {
	for _, s := range scenarios.All() {
		text, err := scenarios.MarshalYAML(s)
		require.NoError(t, err, s.Name)
		read, err := scenarios.ReadYAML(strings.NewReader(string(text)), "s.yaml")
		require.NoError(t, err, "%s\n%s", s.Name, text)
		require.Equal(t, s, read, string(text))
	}
}

const good = `name: mine
summary: the call is slow
hazard: slow-call
shape: single
load:
  stock: 10
  instances: 2
  buyers: 20
  ttl: 300ms
  call: 4ms
  retryevery: 30ms
  stallafter: 3s
steps:
  - fault: slow-call
    with: {ttls: 2.5}
    when: {point: called, nth: 3}
    for: 1s
`

func TestReadYAML(t *testing.T) {
	s, err := scenarios.ReadYAML(strings.NewReader(good), "mine.yaml")
	require.NoError(t, err)
	require.Equal(t, faults.SlowCall{TTLs: 2.5}, s.Steps[0].Do)
	require.Equal(t, 3, s.Steps[0].When.Nth)
	require.Equal(t, 20, s.Load.Wanted())

	plain := strings.Replace(good, "    with: {ttls: 2.5}\n", "", 1)
	s, err = scenarios.ReadYAML(strings.NewReader(plain), "mine.yaml")
	require.NoError(t, err)
	require.Equal(t, faults.SlowCall{TTLs: 1.5}, s.Steps[0].Do, "the fault's usual settings")
}

func TestBadYAMLIsRefusedWithItsPlace(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"unknown field":          {"shape: single", "shapes: single", `mine.yaml:4:1: unknown field "shapes"`},
		"unknown field of load":  {"  buyers: 20", "  buyer: 20", `mine.yaml:8:3: unknown field "buyer"`},
		"unknown setting":        {"{ttls: 2.5}", "{ttl: 2.5}", `mine.yaml:15:12: steps[0].with doesn't fit the fault: unknown field "ttl"`},
		"unknown fault":          {"fault: slow-call", "fault: slow-cal", `mine.yaml:14:12: steps[0].fault must be one of oversell list faults, not "slow-cal"`},
		"unknown hazard":         {"hazard: slow-call", "hazard: rain", `mine.yaml:3:9: hazard must be one of oversell list hazards, not "rain"`},
		"unknown shape":          {"shape: single", "shape: ring", `mine.yaml:4:8: shape must be single, sentinel or quorum, not "ring"`},
		"unknown point":          {"point: called", "point: soon", `mine.yaml:16:19: steps[0].when.point must be one of`},
		"zero stock":             {"stock: 10", "stock: 0", "mine.yaml:6:10: load.stock must be at least 1 unit"},
		"negative retries":       {"  buyers: 20", "  buyers: 20\n  clientretries: -1", "mine.yaml:9:18: load.clientretries can't be negative"},
		"retries of no number":   {"  buyers: 20", "  buyers: 20\n  clientretries: often", "mine.yaml:9:18:"},
		"negative TTL":           {"ttl: 300ms", "ttl: -300ms", "mine.yaml:9:8: load.ttl must be longer than 0"},
		"more instances":         {"instances: 2", "instances: 21", "mine.yaml:8:11: load.buyers must be at least as many as there are instances (21)"},
		"missing value":          {"  stallafter: 3s\n", "", "mine.yaml:6:3: load.stallafter must be longer than 0"},
		"negative setting":       {"{ttls: 2.5}", "{ttls: -1}", "mine.yaml:15:18: steps[0].with.ttls can't be negative"},
		"step waits for a later": {"nth: 3", "after: 1", "mine.yaml:16:34: steps[0].when.after must be the number of an earlier step"},
		"only optional steps":    {"for: 1s", "optional: true", "steps must have a fault that isn't optional"},
		"bad name":               {"name: mine", "name: ../mine", "mine.yaml:1:7: name must be lower-case words"},
		"not a number":           {"stock: 10", "stock: many", `mine.yaml:6:10: "many" is no whole number`},
		"half a unit":            {"stock: 10", "stock: 10.5", `mine.yaml:6:10: "10.5" is no whole number`},
		"no unit of time":        {"ttl: 300ms", "ttl: 300", `mine.yaml:9:8: "300" is no duration such as 500ms or 2s`},
		"no time at all":         {"ttl: 300ms", "ttl: soon", `mine.yaml:9:8: "soon" is no duration such as 500ms or 2s`},
		"a list for a number":    {"stock: 10", "stock: [10]", "mine.yaml:6:10:"},
		"a setting that is text": {"{ttls: 2.5}", "{ttls: long}", `steps[0].with doesn't fit the fault: "long" is no number`},
		"neither yes nor no":     {"for: 1s", "optional: perhaps", `"perhaps" is neither true nor false`},
		"a field twice":          {"shape: single", "shape: single\nshape: single", "mine.yaml:5:1:"},
		"two documents":          {"    for: 1s", "    for: 1s\n---\nname: second", "mine.yaml:19:1: another document begins: a file holds one scenario"},
		"not YAML":               {"load:", "load: [", "mine.yaml:"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, good, c.old)
			_, err := scenarios.ReadYAML(strings.NewReader(strings.Replace(good, c.old, c.new, 1)), "mine.yaml")
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "\n", "one line")
		})
	}
	_, err := scenarios.ReadYAML(strings.NewReader(""), "mine.yaml")
	require.EqualError(t, err, "mine.yaml:1:1: the file is empty")
	_, err = scenarios.ReadYAML(strings.NewReader(strings.Repeat("#", 2<<20)), "mine.yaml")
	require.ErrorContains(t, err, "at most")
}

func TestBuiltInScenariosAreValid(t *testing.T) {
	for _, s := range scenarios.All() {
		require.Empty(t, s.Validate(), s.Name)
	}
}

func TestSchemaNamesEverything(t *testing.T) {
	text, err := scenarios.Schema()
	require.NoError(t, err)
	require.True(t, json.Valid(text))
	for _, f := range faults.All() {
		require.Contains(t, string(text), `"`+f.Name()+`"`)
	}
	for _, p := range faults.Points() {
		require.Contains(t, string(text), `"`+string(p)+`"`)
	}
}

func FuzzReadYAML(f *testing.F) {
	f.Add(good)
	for _, s := range scenarios.All() {
		if text, err := scenarios.MarshalYAML(s); err == nil {
			f.Add(string(text))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := scenarios.ReadYAML(strings.NewReader(text), "f.yaml")
		if err == nil {
			require.Empty(t, s.Validate(), "what is read can be played")
		}
	})
}
