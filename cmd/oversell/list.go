package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/result"
	"github.com/oversell/oversell/scenarios"
)

type scenarioItem struct {
	Name      string        `json:"name"`
	Summary   string        `json:"summary"`
	Hazard    result.Hazard `json:"hazard"`
	Shape     string        `json:"shape"`
	Faults    []string      `json:"faults"`
	Stock     int           `json:"stock"`
	Instances int           `json:"instances"`
	Buyers    int           `json:"buyers"`
	TTLMS     int64         `json:"ttl_ms"`
}

type lockItem struct {
	Name       string          `json:"name"`
	Alias      string          `json:"alias"`
	Summary    string          `json:"summary"`
	Fenced     bool            `json:"fenced"`
	Renews     bool            `json:"renews"`
	Shapes     []string        `json:"shapes"`
	Withstands []result.Hazard `json:"withstands"`
}

type faultItem struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
}

func (a *app) scenarioTable() table {
	t := table{noun: "scenarios", header: []string{"scenario", "hazard", "servers", "what goes wrong"}}
	items := []scenarioItem{}
	for _, s := range a.scenarios {
		t.rows = append(t.rows, []string{s.Name, string(s.Hazard), string(s.Shape), s.Summary})
		item := scenarioItem{
			Name: s.Name, Summary: s.Summary, Hazard: s.Hazard, Shape: string(s.Shape), Faults: []string{},
			Stock: s.Load.Stock, Instances: s.Load.Instances, Buyers: s.Load.Buyers, TTLMS: s.Load.TTL.Milliseconds(),
		}
		for _, step := range s.Steps {
			item.Faults = append(item.Faults, step.Do.Name())
		}
		items = append(items, item)
	}
	t.items = items
	return t
}

func (a *app) lockTable() table {
	t := table{noun: "locks", header: []string{"lock", "alias", "how it locks", "withstands"}}
	items := []lockItem{}
	for _, k := range a.kinds {
		item := lockItem{
			Name: k.Name, Alias: k.Alias, Summary: k.Summary, Fenced: k.Fenced, Renews: k.Renews,
			Shapes: []string{}, Withstands: append([]result.Hazard{}, k.Withstands...),
		}
		for _, s := range k.Topologies {
			item.Shapes = append(item.Shapes, string(s))
		}
		var hazards []string
		for _, h := range k.Withstands {
			hazards = append(hazards, string(h))
		}
		t.rows = append(t.rows, []string{k.Name, k.Alias, k.Summary, strings.Join(hazards, ", ")})
		items = append(items, item)
	}
	t.items = items
	return t
}

func (a *app) faultTable() table {
	t := table{noun: "faults", header: []string{"fault", "what it does"}}
	items := []faultItem{}
	for _, f := range a.faults {
		t.rows = append(t.rows, []string{f.Name(), f.Summary()})
		items = append(items, faultItem{f.Name(), f.Summary()})
	}
	t.items = items
	return t
}

type hazardItem struct {
	Name      result.Hazard `json:"name"`
	Summary   string        `json:"summary"`
	Scenarios []string      `json:"scenarios"`
}

// hazardTable says of every hazard which scenarios make it happen.
func (a *app) hazardTable() table {
	t := table{noun: "hazards", header: []string{"hazard", "what it is", "scenarios"}}
	items := []hazardItem{}
	for _, h := range result.Hazards() {
		item := hazardItem{Name: h.Hazard, Summary: h.Summary, Scenarios: []string{}}
		for _, s := range a.scenarios {
			if s.Hazard == h.Hazard {
				item.Scenarios = append(item.Scenarios, s.Name)
			}
		}
		t.rows = append(t.rows, []string{string(h.Hazard), h.Summary, strings.Join(item.Scenarios, ", ")})
		items = append(items, item)
	}
	t.items = items
	return t
}

type pointItem struct {
	Name    faults.Point `json:"name"`
	Summary string       `json:"summary"`
}

// pointTable is what a scenario's triggers can stand at.
func pointTable() table {
	t := table{noun: "points", header: []string{"point", "when a purchase reaches it"}}
	items := []pointItem{}
	for _, p := range faults.Points() {
		t.rows = append(t.rows, []string{string(p), p.Summary()})
		items = append(items, pointItem{p, p.Summary()})
	}
	t.items = items
	return t
}

var (
	listNouns   = []string{"scenarios", "locks", "faults", "hazards", "points"}
	listFormats = []string{"text", "json", "markdown"}
)

// What list prints besides the lists.
const (
	oneScenario = "scenario" // and its name
	schemaNoun  = "schema"
	yamlFormat  = "yaml"
)

const listLong = `List prints the lists: scenarios, locks and faults, or those that you name.

"oversell list scenario NAME --output yaml" prints one scenario as a file: change
it and play it with "oversell run -f". "oversell list schema" prints the JSON
Schema of such files, for editors.`

func newListCmd(a *app) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "list [" + strings.Join(listNouns, " | ") + " | scenario NAME | schema]",
		Short:   "List scenarios, locks, faults and hazards; print a scenario as a file",
		Long:    listLong,
		Args:    cobra.ArbitraryArgs,
		Example: "  oversell list\n  oversell list locks --output json\n  oversell list scenario ttl-expiry --output yaml > mine.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.list(args, format, cmd.Flags().Changed("output"))
		},
	}
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if slices.Contains(args, oneScenario) {
			return a.scenarioNames(), cobra.ShellCompDirectiveNoFileComp
		}
		return append(slices.Clone(listNouns), oneScenario, schemaNoun), cobra.ShellCompDirectiveNoFileComp
	}
	cmd.Flags().StringVar(&format, "output", listFormats[0], strings.Join(listFormats, ", ")+"; of one scenario "+yamlFormat)
	complete(cmd, "output", append(slices.Clone(listFormats), yamlFormat))
	return cmd
}

func (a *app) list(args []string, format string, chosen bool) error {
	if len(args) > 0 && args[0] == oneScenario {
		return a.listScenario(args[1:], format, chosen)
	}
	if len(args) == 1 && args[0] == schemaNoun {
		schema, err := scenarios.Schema()
		if err != nil {
			return err
		}
		_, err = a.out.Write(schema)
		return err
	}
	for _, noun := range args {
		if !slices.Contains(listNouns, noun) {
			return unknown("list", noun, append(slices.Clone(listNouns), oneScenario, schemaNoun))
		}
	}
	if format == yamlFormat {
		return hint.Wrap(usagef("--output yaml is for one scenario"), "for example oversell list scenario %s --output yaml", defaultScenario)
	}
	if !slices.Contains(listFormats, format) {
		return unknown("output format", format, listFormats)
	}
	return writeTables(a.out, a.tables(args), format)
}

// listScenario prints one scenario, as a file unless another format is asked for.
func (a *app) listScenario(names []string, format string, chosen bool) error {
	if len(names) != 1 {
		return hint.Wrap(usagef("list scenario takes the name of one scenario, got %q", strings.Join(names, " ")),
			"for example oversell list scenario %s --output yaml", defaultScenario)
	}
	i := slices.IndexFunc(a.scenarios, func(s scenarios.Scenario) bool { return s.Name == names[0] })
	if i < 0 {
		return unknown("scenario", names[0], a.scenarioNames())
	}
	if chosen && format != yamlFormat {
		return hint.Wrap(usagef("one scenario is printed as yaml, not as %s", format), "oversell list scenarios --output json has all of them")
	}
	text, err := scenarios.MarshalYAML(a.scenarios[i])
	if err != nil {
		return err
	}
	_, err = a.out.Write(text)
	return err
}

// tables returns the lists of those nouns; without any, the three that a
// reader begins with.
func (a *app) tables(nouns []string) []table {
	if len(nouns) == 0 {
		nouns = listNouns[:3]
	}
	var picked []table
	for _, t := range []table{a.scenarioTable(), a.lockTable(), a.faultTable(), a.hazardTable(), pointTable()} {
		if slices.Contains(nouns, t.noun) {
			picked = append(picked, t)
		}
	}
	return picked
}
