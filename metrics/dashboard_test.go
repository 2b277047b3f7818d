package metrics_test

import (
	"encoding/json"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// dashboard is what of dashboard.json goes to Prometheus.
type dashboard struct {
	Panels []struct {
		Title, Type string
		ID          int
		Targets     []struct{ Expr string }
	}
	Templating struct {
		List []struct {
			Name, Type, Definition string
		}
	}
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	data, err := os.ReadFile("dashboard.json")
	require.NoError(t, err)
	var d dashboard
	require.NoError(t, json.Unmarshal(data, &d))
	return d
}

var (
	metricName = regexp.MustCompile(`\boversell_[a-z_]+\b`)
	labelQuery = regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)
)

// checkDashboard asks Prometheus every panel's questions, as Grafana would with
// everything selected, and whether it has every metric that is asked for.
func (s server) checkDashboard(t *testing.T) {
	t.Helper()
	var names []string
	s.ask(t, "label/__name__/values", nil, &names)
	fill := strings.NewReplacer("$__rate_interval", "1m", "$__range", "1h", "$job", ".*", "$lock", ".*")
	for _, panel := range readDashboard(t).Panels {
		for _, target := range panel.Targets {
			for _, name := range metricName.FindAllString(target.Expr, -1) {
				assert.Contains(t, names, name, "panel %q", panel.Title)
			}
			query := fill.Replace(target.Expr)
			assert.NotContains(t, query, "$", "a variable that nobody fills in")
			var answer instant
			s.ask(t, "query", url.Values{"query": {query}}, &answer)
			assert.NotEmpty(t, answer.Result, "panel %q has nothing to show for %s", panel.Title, query)
		}
	}
	for _, v := range readDashboard(t).Templating.List {
		if v.Type != "query" {
			continue
		}
		m := labelQuery.FindStringSubmatch(v.Definition)
		require.NotNil(t, m, v.Definition)
		var values []string
		s.ask(t, "label/"+m[2]+"/values", url.Values{"match[]": {fill.Replace(m[1])}}, &values)
		assert.NotEmpty(t, values, "the variable %s has no values", v.Name)
	}
}

// What can be told of the dashboard without Prometheus.
func TestDashboard(t *testing.T) {
	t.Parallel()
	d := readDashboard(t)
	require.NotEmpty(t, d.Panels)
	ids := map[int]bool{}
	asked := map[string]bool{}
	for _, p := range d.Panels {
		assert.False(t, ids[p.ID], "the id %d is there twice", p.ID)
		ids[p.ID] = true
		assert.True(t, p.Type == "row" || len(p.Targets) > 0, "panel %q asks nothing", p.Title)
		for _, target := range p.Targets {
			for _, name := range metricName.FindAllString(target.Expr, -1) {
				asked[name] = true
			}
		}
	}
	s, _, _ := exporter(t)
	_, body := get(t, s.URL())
	for _, line := range strings.Split(body, "\n") {
		name, ok := strings.CutPrefix(line, "# TYPE oversell_")
		if !ok {
			continue
		}
		name, kind, _ := strings.Cut("oversell_"+name, " ")
		if kind == "histogram" {
			name += "_bucket"
		}
		assert.True(t, asked[name], "no panel shows %s", name)
	}
}
