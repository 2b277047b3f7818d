package main

import (
	"context"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/oversell/oversell/checks"
	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/remote"
	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/instance"
	"github.com/oversell/oversell/internal/doctor"
	"github.com/oversell/oversell/inventory"
	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/reports"
	"github.com/oversell/oversell/scenarios"
)

// app is what the commands work with: the streams, the environment and the
// lists. Tests make their own.
type app struct {
	in     io.Reader
	out    io.Writer
	err    io.Writer
	notes  *notes // on err
	outTTY bool
	errTTY bool
	width  int // columns of the terminal, 0 when there is none
	env    func(string) string

	scenarios []scenarios.Scenario
	kinds     []locks.Kind
	groups    map[string][]locks.Kind // kinds by the list that they come from
	faults    []faults.Fault
	checks    []checks.Check
	formats   []reports.Format
	backends  []cluster.Backend // best first
	sweepers  []sweeper
	details   []doctor.Check // what doctor looks at besides
	open      instance.OpenStore
	postgres  func(url string, b cluster.Backend) inventory.Source // one that is there, or with "" one to be started
	machine   func() doctor.Machine
	worker    []string                    // command line of an instance process
	guarded   func(context.Context) error // explores in a process of its own; nil in that process
	program   string                      // how this program was called
	newEngine newEngine
}

// world is what instances can be asked to use.
func (a *app) world() instance.World { return instance.World{Kinds: a.kinds, Open: a.open} }

// newApp is the app of the real program.
func newApp(in io.Reader, out, err *os.File) *app {
	a := &app{in: in, out: out, err: err, env: os.Getenv, machine: doctor.Look, program: programName(os.Args[0])}
	a.notes = &notes{w: err}
	a.outTTY = term.IsTerminal(int(out.Fd()))
	a.errTTY = term.IsTerminal(int(err.Fd()))
	for _, f := range []*os.File{out, err} {
		if w, _, sizeErr := term.GetSize(int(f.Fd())); sizeErr == nil && a.width == 0 {
			a.width = w
		}
	}
	a.join()
	return a
}

func (a *app) scenarioNames() []string {
	names := make([]string, len(a.scenarios))
	for i, s := range a.scenarios {
		names[i] = s.Name
	}
	return names
}

// lockNames lists names and aliases.
func (a *app) lockNames() []string {
	var names []string
	for _, k := range a.kinds {
		names = append(names, k.Name)
		if k.Alias != "" {
			names = append(names, k.Alias)
		}
	}
	return names
}

// backendNames lists the values of --backend.
func (a *app) backendNames() []string {
	names := []string{autoBackend}
	for _, b := range a.backends {
		names = append(names, b.Name())
	}
	return append(names, remote.Name)
}

// The lists that kinds come from.
const (
	naiveGroup = "naive"
	safeGroup  = "safe"
	peersGroup = "peers"
)

// group is the list that a kind comes from, "" for none.
func (a *app) group(kind string) string {
	for name, list := range a.groups {
		for _, k := range list {
			if k.Name == kind {
				return name
			}
		}
	}
	return ""
}

// findKind finds a lock kind by name or alias.
func (a *app) findKind(name string) (locks.Kind, error) {
	for _, k := range a.kinds {
		if name == k.Name || (name == k.Alias && name != "") {
			return k, nil
		}
	}
	return locks.Kind{}, unknown("lock", name, a.lockNames())
}

// colors says whether stdout gets ANSI colours. A flag beats the environment.
func (a *app) colors(flag string) (bool, error) {
	switch flag {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto":
		return a.outTTY && a.env("NO_COLOR") == "" && a.env("TERM") != "dumb", nil
	}
	return false, unknown("value of --color", flag, colorModes)
}

var colorModes = []string{"auto", "always", "never"}

// colorUsage is the help of --color.
var colorUsage = "colours on stdout: " + strings.Join(colorModes, ", ")

// ci reports whether a build server runs this.
func (a *app) ci() bool {
	switch strings.ToLower(a.env("CI")) {
	case "", "0", "false", "no":
		return false
	}
	return true
}
