package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oversell/oversell/result"
)

// table is one of the lists, in words: the same for the terminal and for the README.
type table struct {
	noun   string // "scenarios"
	header []string
	rows   [][]string
	items  any // for JSON
}

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

var (
	listNouns   = []string{"scenarios", "locks", "faults"}
	listFormats = []string{"text", "json", "markdown"}
)

func newListCmd(a *app) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:       "list [scenarios | locks | faults]",
		Short:     "List scenarios, locks and faults",
		ValidArgs: listNouns,
		Args:      cobra.ArbitraryArgs,
		Example:   "  oversell list\n  oversell list locks --output json",
		RunE: func(_ *cobra.Command, args []string) error {
			for _, noun := range args {
				if !slices.Contains(listNouns, noun) {
					return unknown("list", noun, listNouns)
				}
			}
			if !slices.Contains(listFormats, format) {
				return unknown("output format", format, listFormats)
			}
			return writeTables(a.out, a.tables(args), format)
		},
	}
	cmd.Flags().StringVar(&format, "output", listFormats[0], strings.Join(listFormats, ", "))
	complete(cmd, "output", listFormats)
	return cmd
}

// tables returns the lists of those nouns, or all of them.
func (a *app) tables(nouns []string) []table {
	var picked []table
	for _, t := range []table{a.scenarioTable(), a.lockTable(), a.faultTable()} {
		if len(nouns) == 0 || slices.Contains(nouns, t.noun) {
			picked = append(picked, t)
		}
	}
	return picked
}

func writeTables(w io.Writer, tables []table, format string) error {
	var b strings.Builder
	switch format {
	case "json":
		doc := map[string]any{}
		for _, t := range tables {
			doc[t.noun] = t.items
		}
		return writeJSON(w, doc)
	case "markdown":
		for i, t := range tables {
			if i > 0 {
				b.WriteString("\n")
			}
			t.markdown(&b)
		}
	default:
		for i, t := range tables {
			if i > 0 {
				b.WriteString("\n")
			}
			t.text(&b)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// text writes aligned columns below the header in capitals.
func (t table) text(b *strings.Builder) {
	wide := make([]int, len(t.header))
	for _, row := range append([][]string{t.header}, t.rows...) {
		for i, cell := range row {
			wide[i] = max(wide[i], len([]rune(cell)))
		}
	}
	for n, row := range append([][]string{t.header}, t.rows...) {
		var line strings.Builder
		for i, cell := range row {
			if n == 0 {
				cell = strings.ToUpper(cell)
			}
			fmt.Fprintf(&line, "%-*s  ", wide[i], cell)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// markdown writes a table; the first column is code.
func (t table) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "| %s |\n|%s\n", strings.Join(t.header, " | "), strings.Repeat(" --- |", len(t.header)))
	for _, row := range t.rows {
		cells := slices.Clone(row)
		for i, cell := range cells {
			cells[i] = strings.ReplaceAll(cell, "|", `\|`)
		}
		cells[0] = "`" + cells[0] + "`"
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
}
