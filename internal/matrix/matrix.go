// Package matrix is the table of what every lock does in every scenario: what
// came out, what was skipped and why, and what is still to be played.
package matrix

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/oversell/oversell/result"
)

// Schema names the document that a matrix marshals to.
const Schema = "oversell.matrix/v1"

// Matrix is lock x scenario, for each server version.
type Matrix struct {
	Schema    string          `json:"schema"`
	Gate      result.Gate     `json:"gate"`
	Started   time.Time       `json:"started"`
	PlayedMS  int64           `json:"played_ms"` // wall-clock time spent on it, over all sittings
	Backend   string          `json:"backend"`
	Simulated bool            `json:"simulated"`
	Seed      int64           `json:"seed"`
	Locks     []Lock          `json:"locks"`
	Scenarios []Scenario      `json:"scenarios"`
	Versions  []string        `json:"versions"` // as --redis has them; "" is the backend's own
	Whole     bool            `json:"whole"`    // every scenario is in it
	Cells     []*Cell         `json:"cells"`
	Dir       string          `json:"dir"`
	Command   string          `json:"command"` // repeats it from the start
	Options   json.RawMessage `json:"options"` // what the command line said, to go on with
}

// Lock is a column.
type Lock struct {
	Name  string `json:"name"`
	Alias string `json:"alias"`
	Group string `json:"group"` // naive, safe, peers
	// Broken says that the lock is broken by design: some scenario has to catch it.
	Broken bool `json:"broken"`
}

// Scenario is a row.
type Scenario struct {
	Name   string        `json:"name"`
	Hazard result.Hazard `json:"hazard"`
	Shape  string        `json:"shape"`
}

// Cell is one lock in one scenario on one version. It is untouched, skipped,
// failed or played.
type Cell struct {
	Scenario string      `json:"scenario"`
	Lock     string      `json:"lock"`
	Version  string      `json:"version"`
	Skipped  string      `json:"skipped,omitempty"` // why it can't be played
	Failed   string      `json:"failed,omitempty"`  // what broke down before there was a result
	Run      *result.Run `json:"run,omitempty"`
}

// New makes a matrix whose cells are all untouched, in the order in which they
// are best played: scenario by scenario, and those of one shape together.
func New(locks []Lock, scenarios []Scenario, versions []string) *Matrix {
	m := &Matrix{Schema: Schema, Locks: locks, Scenarios: scenarios, Versions: versions}
	order := slices.Clone(scenarios)
	slices.SortStableFunc(order, func(a, b Scenario) int { return shapeRank(a.Shape) - shapeRank(b.Shape) })
	for _, v := range versions {
		for _, s := range order {
			for _, l := range locks {
				m.Cells = append(m.Cells, &Cell{Scenario: s.Name, Lock: l.Name, Version: v})
			}
		}
	}
	return m
}

func shapeRank(shape string) int {
	return slices.Index([]string{"single", "quorum", "sentinel"}, shape)
}

// Finished reports whether c needs not be played any more. An inconclusive run
// has finished nothing, and nothing else is ever played again.
func (c *Cell) Finished() bool {
	return c.Skipped != "" || c.Run != nil && c.Run.Verdict != result.Inconclusive
}

// Finish puts a run into c, cut to what the matrix needs of it: everything
// else is in the run's own folder.
func (c *Cell) Finish(r result.Run) {
	c.Failed = ""
	r.Story, r.Evidence, r.ServerInfo = nil, nil, nil
	if r.Gate == result.Pass {
		r.Findings = nil
	}
	r.Findings = slices.Clone(r.Findings[:min(len(r.Findings), maxFindings)])
	for i := range r.Findings {
		r.Findings[i].Events = nil
	}
	c.Run = &r
}

// maxFindings is how many findings of an unexpected run stay in the matrix.
const maxFindings = 3

// Cell returns the cell of that lock, scenario and version, or nil.
func (m *Matrix) Cell(scenario, lock, version string) *Cell {
	for _, c := range m.Cells {
		if c.Scenario == scenario && c.Lock == lock && c.Version == version {
			return c
		}
	}
	return nil
}

// Counts is how far a matrix has come.
type Counts struct {
	Cells, Played, Skipped, Failed, Unexpected, Inconclusive int
	Untouched                                                int
}

// Count counts the cells.
func (m *Matrix) Count() Counts {
	n := Counts{Cells: len(m.Cells)}
	for _, c := range m.Cells {
		switch {
		case c.Skipped != "":
			n.Skipped++
		case c.Failed != "":
			n.Failed++
		case c.Run == nil:
			n.Untouched++
		default:
			n.Played++
			switch c.Run.Gate {
			case result.Fail:
				n.Unexpected++
			case result.Pass:
			default:
				n.Inconclusive++
			}
		}
	}
	return n
}

// Judge sets the gate. It works both ways: a lock has to be ok where it claims
// to be, it has to break where it doesn't, and, when every scenario was played, a
// lock that is broken by design has to be caught somewhere.
func (m *Matrix) Judge() result.Gate {
	n := m.Count()
	switch {
	case n.Unexpected > 0 || len(m.Uncaught()) > 0:
		m.Gate = result.Fail
	case n.Inconclusive+n.Failed+n.Untouched > 0 || n.Played == 0:
		m.Gate = result.GateUnresolved
	default:
		m.Gate = result.Pass
	}
	return m.Gate
}

// Uncaught lists the locks that are broken by design and broke nowhere, on some
// version. It is empty as long as cells of theirs are still to be played.
func (m *Matrix) Uncaught() []string {
	if !m.Whole {
		return nil
	}
	var names []string
	for _, l := range m.Locks {
		for _, v := range m.Versions {
			if name := l.Name; l.Broken && m.uncaught(name, v) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

func (m *Matrix) uncaught(lock, version string) bool {
	played := false
	for _, c := range m.Cells {
		switch {
		case c.Lock != lock || c.Version != version || c.Skipped != "":
		case !c.Finished() || c.Run.Verdict.Violation():
			return false
		default:
			played = true
		}
	}
	return played
}

// Runs are the results of the cells that were played.
func (m *Matrix) Runs() []result.Run {
	runs := []result.Run{}
	for _, c := range m.Cells {
		if c.Run != nil {
			runs = append(runs, *c.Run)
		}
	}
	return runs
}

// Server is what the servers of a version said of themselves.
func (m *Matrix) Server(version string) string {
	for _, c := range m.Cells {
		if c.Version == version && c.Run != nil {
			return c.Run.Server
		}
	}
	if version == "" {
		return "the backend's own server"
	}
	return version
}

// Read reads what was written as JSON.
func Read(data []byte) (*Matrix, error) {
	var m Matrix
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("read the matrix: %w", err)
	}
	if m.Schema != Schema {
		return nil, fmt.Errorf("read the matrix: it is of the schema %q, not %s", m.Schema, Schema)
	}
	if slices.Contains(m.Cells, nil) {
		return nil, fmt.Errorf("read the matrix: it has an empty cell")
	}
	return &m, nil
}
