package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/internal/engine"
	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/internal/matrix"
	"github.com/oversell/oversell/reports"
	"github.com/oversell/oversell/result"
)

// matrixFile is the matrix within its folder.
const matrixFile = "matrix.json"

// matrixFormats are the formats of a matrix; those with a Write are about its runs.
func matrixFormats() []reports.Format {
	return []reports.Format{
		{Name: "text", Ext: "txt", Summary: "a table, and what wasn't expected"},
		{Name: "json", Ext: "json", Summary: "one document (" + matrix.Schema + ")"},
		{Name: "markdown", Ext: "md", Summary: "a table for a README"},
		reports.JUnit(),
		reports.NDJSON(),
		reports.SARIF(),
		reports.Trace(),
	}
}

func writeMatrix(m *matrix.Matrix) func(output, io.Writer, reports.Options) error {
	return func(o output, w io.Writer, opts reports.Options) error {
		if o.format.Write != nil {
			return o.format.Write(w, m.Runs(), opts)
		}
		switch o.format.Name {
		case "json":
			return m.JSON(w)
		case "markdown":
			return m.Markdown(w)
		}
		var paint func(result.Verdict, string) string
		if opts.Color {
			paint = reports.Paint
		}
		return m.Text(w, opts.Width, paint)
	}
}

// tellGitHubOfMatrix appends the matrix to the summary of the job, if it fits, else its runs.
func (a *app) tellGitHubOfMatrix(m *matrix.Matrix) {
	a.summarize(func(w io.Writer, room int) error {
		var buf bytes.Buffer
		buf.WriteString("## oversell: the matrix\n\n")
		if err := m.Markdown(&buf); err != nil {
			return err
		}
		if buf.Len() <= room {
			_, err := buf.WriteTo(w)
			return err
		}
		return reports.Markdown().Write(w, m.Runs(), reports.Options{Bytes: room})
	})
	a.annotate(m.Runs())
}

// savedOptions is what of the command line makes a matrix what it is. URLs are
// not among them: they may hold passwords.
type savedOptions struct {
	Scenarios      []string       `json:"scenarios"`
	Files          []string       `json:"files"`
	Locks          []string       `json:"locks"`
	Backend        string         `json:"backend"`
	Redis          []string       `json:"redis"`
	Stock          *int           `json:"stock"`
	Instances      *int           `json:"instances"`
	Buyers         *int           `json:"buyers"`
	TTL            *time.Duration `json:"ttl"`
	TimeScale      *float64       `json:"time_scale"`
	Seed           int64          `json:"seed"`
	Trials         int            `json:"trials"`
	Inventory      string         `json:"inventory"`
	AllowNonempty  bool           `json:"allow_nonempty"`
	AllowSimulated bool           `json:"allow_simulated"`
}

// save is the part of o that belongs to the matrix.
func (o *runOptions) save(seed int64) savedOptions {
	return savedOptions{
		Scenarios: o.Scenarios, Files: o.Files, Locks: o.Locks, Backend: o.Backend, Redis: o.Redis,
		Stock: o.Stock, Instances: o.Instances, Buyers: o.Buyers, TTL: o.TTL, TimeScale: o.TimeScale,
		Seed: seed, Trials: o.Trials, Inventory: o.Inventory, AllowNonempty: o.AllowNonempty, AllowSimulated: o.AllowSimulated,
	}
}

// restore puts the saved options into o.
func (s savedOptions) restore(o *runOptions) {
	o.Scenarios, o.Files, o.Locks, o.Backend, o.Redis = s.Scenarios, s.Files, s.Locks, s.Backend, s.Redis
	o.Stock, o.Instances, o.Buyers, o.TTL, o.TimeScale = s.Stock, s.Instances, s.Buyers, s.TTL, s.TimeScale
	o.Seed, o.Trials, o.Inventory, o.AllowNonempty, o.AllowSimulated = &s.Seed, s.Trials, s.Inventory, s.AllowNonempty, s.AllowSimulated
	o.All = true
}

// newMatrix is `oversell run --all`: begin a matrix and play it.
func (a *app) newMatrix(ctx context.Context, o *runOptions) error {
	whole := len(o.Scenarios) == 0 && len(o.Files) == 0
	if !o.has("lock") {
		o.Locks = nil
		for _, k := range a.kinds {
			o.Locks = append(o.Locks, k.Name)
		}
	}
	p, err := a.plan(o)
	if err != nil {
		return err
	}
	backend, err := a.begin(ctx, o, &p)
	if err != nil {
		return err
	}
	m := a.matrixOf(p, o, backend)
	m.Whole = whole
	o.Backend = backend.Name()
	if m.Dir, err = engine.NewDir(o.Dir, "matrix", m.Started.Local()); err != nil {
		return environment(err)
	}
	m.Dir = filepath.ToSlash(m.Dir)
	o.Scenarios = withoutOwn(m, p.own)
	if m.Options, err = json.Marshal(o.save(p.seed)); err != nil {
		return fmt.Errorf("save the options: %w", err)
	}
	return a.playMatrix(ctx, o, p, m, backend)
}

// withoutOwn names the scenarios that come from oversell's own list.
func withoutOwn(m *matrix.Matrix, own []string) []string {
	var names []string
	for _, s := range m.Scenarios {
		if !slices.Contains(own, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// matrixOf makes the empty matrix of p's jobs.
func (a *app) matrixOf(p plan, o *runOptions, backend cluster.Backend) *matrix.Matrix {
	var kinds []matrix.Lock
	var rows []matrix.Scenario
	for _, j := range p.jobs {
		if !slices.ContainsFunc(kinds, func(l matrix.Lock) bool { return l.Name == j.Kind.Name }) {
			group := a.group(j.Kind.Name)
			kinds = append(kinds, matrix.Lock{Name: j.Kind.Name, Alias: j.Kind.Alias, Group: group, Broken: group == naiveGroup})
		}
		if !slices.ContainsFunc(rows, func(s matrix.Scenario) bool { return s.Name == j.Scenario.Name }) {
			rows = append(rows, matrix.Scenario{Name: j.Scenario.Name, Hazard: j.Scenario.Hazard, Shape: string(j.Scenario.Shape)})
		}
	}
	m := matrix.New(kinds, rows, orOwn(o.Redis))
	m.Started, m.Backend, m.Simulated, m.Seed, m.Command = time.Now().UTC(), backend.Name(), !backend.Real(), p.seed, p.command
	return m
}

// resumeMatrix is `oversell run --resume DIR`.
func (a *app) resumeMatrix(ctx context.Context, o *runOptions) error {
	if err := o.checkResume(); err != nil {
		return err
	}
	m, saved, err := readMatrix(o.Resume)
	if err != nil {
		return err
	}
	saved.restore(o)
	o.Dir = filepath.Dir(filepath.Clean(o.Resume))
	p, err := a.plan(o)
	if err != nil {
		return fmt.Errorf("%s can't go on: %w", o.Resume, err)
	}
	backend, err := a.begin(ctx, o, &p)
	if err != nil {
		return err
	}
	m.Dir = filepath.ToSlash(filepath.Clean(o.Resume))
	return a.playMatrix(ctx, o, p, m, backend)
}

func readMatrix(dir string) (*matrix.Matrix, savedOptions, error) {
	var saved savedOptions
	wrong := func(err error) error {
		return hint.Wrap(&codeError{exitUsage, fmt.Errorf("--resume %s: %w", dir, err)}, "name a folder that oversell run --all has made, such as runs/20261129-120000-matrix")
	}
	data, err := os.ReadFile(filepath.Join(dir, matrixFile))
	if err != nil {
		return nil, saved, wrong(err)
	}
	m, err := matrix.Read(data)
	if err == nil {
		err = json.Unmarshal(m.Options, &saved)
	}
	if err != nil {
		return nil, saved, wrong(err)
	}
	return m, saved, nil
}

// playMatrix plays what isn't finished, saves after every cell, and reports.
func (a *app) playMatrix(ctx context.Context, o *runOptions, p plan, m *matrix.Matrix, backend cluster.Backend) error {
	s := &sitting{app: a, o: o, m: m, jobs: map[*matrix.Cell]engine.Job{}}
	if err := s.assign(p, backend.Name()); err != nil {
		return err
	}
	err := a.withEngine(ctx, o, backend, m.Dir, "matrix", func(eng player) error { return s.play(ctx, eng) })
	stays, err := splitStays(err)
	if err != nil {
		a.notes.say("kept: %s; oversell run --resume %s goes on", m.Dir, shellQuote(m.Dir))
		return orInterrupted(ctx, err)
	}
	return a.endWith(stays, a.tellMatrix(p, m, backend))
}

// tellMatrix writes the reports about a matrix, and ends with the code of its gate.
func (a *app) tellMatrix(p plan, m *matrix.Matrix, backend cluster.Backend) error {
	if m.Count().Played == 0 {
		return nothingPlayed(backend)
	}
	if err := a.writeOutputs(p.outputs, p.color, writeMatrix(m)); err != nil {
		return err
	}
	a.tellGitHubOfMatrix(m)
	if m.Count().Failed > 0 {
		return environment(hint.Wrap(errors.New("some cells broke down before there was a result"), "oversell run --resume %s plays them again", shellQuote(m.Dir)))
	}
	return exitWith(gateCode(m.Gate))
}
