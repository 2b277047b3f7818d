package reports_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/reports"
	"github.com/oversell/oversell/result"
)

// The names in the document are promised to whoever reads it: this test says
// them once more on purpose.
func TestJSONFieldNames(t *testing.T) {
	t.Parallel()
	doc := decode(t, write(t, reports.JSON(), []result.Run{naive()}, reports.Options{}))
	assert.ElementsMatch(t, []string{"schema", "gate", "runs"}, keys(doc))
	assert.Equal(t, "oversell.result/v1", doc["schema"])
	assert.Equal(t, "pass", doc["gate"])

	run := doc["runs"].([]any)[0].(map[string]any)
	assert.ElementsMatch(t, strings.Fields(`
		scenario hazard lock alias backend server simulated expected verdict gate
		stock sold oversold lost_updates double_holds fence_refused trials violations
		inconclusive verdicts rate ttl_ms calls renews fenced evidence findings story server_info seed duration_ms dir command`), keys(run))
	for name, want := range map[string]any{
		"scenario": "ttl-expiry", "hazard": "slow-call", "lock": "setnx-expire-del", "alias": "naive",
		"backend": "docker", "server": "Redis 7.0.15", "simulated": false,
		"expected": "not-ok", "verdict": "oversold", "gate": "pass",
		"sold": 137.0, "oversold": 37.0, "lost_updates": 37.0, "double_holds": 41.0, "fence_refused": 0.0,
		"trials": 1.0, "violations": 1.0, "seed": 42.0, "duration_ms": 3214.0,
		"dir": "runs/20250101-120000-ttl-expiry-naive", "command": repeat,
		"stock":        map[string]any{"initial": 100.0, "left": 0.0},
		"inconclusive": 0.0, "verdicts": map[string]any{"oversold": 1.0}, "ttl_ms": 300.0, "renews": false, "fenced": false,
		"rate":  map[string]any{"share": 1.0, "low": 0.025, "high": 1.0, "confidence": 0.95},
		"calls": map[string]any{"count": 141.0, "p50_ms": 4.1, "p99_ms": 451.0, "max_ms": 455.2},
	} {
		assert.Equal(t, want, run[name], name)
	}
	assert.Equal(t, map[string]any{
		"fault": "slow-call", "proof": "the call of purchase 2-17 took 451 ms, the TTL is 300 ms", "at_ms": 212.0,
	}, run["evidence"].([]any)[0])
	assert.Equal(t, map[string]any{
		"property": "exclusion", "verdict": "ok", "events": []any{12.0, 14.0, 15.0},
		"text": "purchase 2-17 and purchase 4-2 held the key at once from 0.512 s to 0.663 s",
	}, run["findings"].([]any)[0])
	assert.ElementsMatch(t, strings.Fields("cpu_percent memory_bytes slowlog_length connections commands_per_s"),
		keys(run["server_info"].(map[string]any)))
}

func TestJSONHasNoNulls(t *testing.T) {
	t.Parallel()
	runs := []result.Run{
		{Findings: []result.Finding{{Text: "no events"}}},
		{ServerInfo: map[string]any{result.InfoCommands: math.NaN(), result.InfoCPU: math.Inf(1), result.InfoMemory: 3}},
	}
	out := write(t, reports.JSON(), runs, reports.Options{})
	assert.NotContains(t, out, "null")
	second := decode(t, out)["runs"].([]any)[1].(map[string]any)
	assert.Equal(t, map[string]any{"memory_bytes": 3.0}, second["server_info"], "what JSON can't say is left out")

	assert.JSONEq(t, `{"schema":"oversell.result/v1","gate":"inconclusive","runs":[]}`,
		write(t, reports.JSON(), nil, reports.Options{}))
}

func TestJSONIsReadable(t *testing.T) {
	t.Parallel()
	r := with(naive(), func(r *result.Run) { r.Story = []string{"A's TTL < B's && 库存 > 0"} })
	out := write(t, reports.JSON(), []result.Run{r}, reports.Options{Color: true, Width: 40})
	assert.Contains(t, out, "A's TTL < B's && 库存 > 0", "nothing is escaped that needn't be")
	assert.Contains(t, out, "\n      \"scenario\": \"ttl-expiry\",\n", "it is indented")
	assert.True(t, strings.HasSuffix(out, "}\n") && !strings.HasSuffix(out, "\n\n"))
	assert.NotContains(t, out, "\x1b")
}

func TestJSONCanBeReadBack(t *testing.T) {
	t.Parallel()
	for _, c := range cases() {
		if c.name == "hostile" { // what isn't UTF-8 can't come back
			continue
		}
		first := write(t, reports.JSON(), c.runs, reports.Options{})
		var doc result.Document
		require.NoError(t, json.Unmarshal([]byte(first), &doc))
		assert.Equal(t, first, write(t, reports.JSON(), doc.Runs, reports.Options{}), c.name)
	}
}

func TestJSONFromALaterVersionCanBeRead(t *testing.T) {
	t.Parallel()
	doc := decode(t, write(t, reports.JSON(), []result.Run{naive()}, reports.Options{}))
	doc["later"] = []any{1}
	run := doc["runs"].([]any)[0].(map[string]any)
	run["later"] = map[string]any{"x": nil}
	run["stock"].(map[string]any)["later"] = "y"
	run["findings"].([]any)[0].(map[string]any)["later"] = true
	data, err := json.Marshal(doc)
	require.NoError(t, err)

	var read result.Document
	require.NoError(t, json.Unmarshal(data, &read))
	require.Len(t, read.Runs, 1)
	want := naive()
	want.ServerInfo = read.Runs[0].ServerInfo // numbers lose their Go type
	assert.Equal(t, want, read.Runs[0])
	assert.Equal(t, 13.0, read.Runs[0].ServerInfo[result.InfoConnections])
}

func TestJSONSaysWhatItCannotEncode(t *testing.T) {
	t.Parallel()
	err := reports.JSON().Write(&strings.Builder{}, []result.Run{{ServerInfo: map[string]any{"f": func() {}}}}, reports.Options{})
	assert.ErrorContains(t, err, "encode the results as JSON: ")
}

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	var doc map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &doc))
	return doc
}

func keys(m map[string]any) []string {
	var names []string
	for k := range m {
		names = append(names, k)
	}
	return names
}
