package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/internal/engine"
	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/internal/printable"
	"github.com/oversell/oversell/reports"
	"github.com/oversell/oversell/result"
)

// runFolders finds the runs that paths name: a run's folder, or a folder with
// runs in it, however deep. A run that is named twice, such as by runs/latest,
// counts once.
func runFolders(paths []string) ([]string, error) {
	var dirs []string
	seen := map[string]bool{}
	add := func(dir string) {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			real = dir
		}
		if real, err = filepath.Abs(real); err == nil && !seen[real] {
			seen[real] = true
			dirs = append(dirs, dir)
		}
	}
	for _, path := range paths {
		path = filepath.Clean(path)
		if filepath.Base(path) == history.EventsFile || filepath.Base(path) == history.PlanFile {
			path = filepath.Dir(path) // a run by one of its files
		}
		if isRunFolder(path) {
			add(path)
			continue
		}
		found, err := runsBelow(path)
		if err != nil {
			return nil, notSaved(path, err)
		}
		for _, dir := range found {
			add(dir)
		}
	}
	return dirs, nil
}

func isRunFolder(path string) bool {
	info, err := os.Stat(filepath.Join(path, history.PlanFile))
	return err == nil && info.Mode().IsRegular()
}

// runsBelow lists the runs in a folder, in the order of their names. Links are
// not followed: what they point to is there by itself.
func runsBelow(path string) ([]string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	var found []string
	err = filepath.WalkDir(real, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || !isRunFolder(p) {
			return err
		}
		if inner, err := filepath.Rel(real, p); err == nil {
			p = filepath.Join(path, inner)
		}
		found = append(found, p)
		return fs.SkipDir
	})
	if err == nil && len(found) == 0 {
		err = errNothingSaved
	}
	return found, err
}

// judgeFolder judges a saved run again, and says whether it has saved the same.
func (a *app) judgeFolder(o *checkOptions, dir string) (result.Run, error) {
	h, err := history.Load(dir)
	cut := errors.Is(err, history.ErrTruncated)
	if err != nil && !cut {
		return result.Run{}, notSaved(dir, err)
	}
	if err := knownPlan(h.Plan); err != nil {
		return result.Run{}, notSaved(dir, err)
	}
	r := a.judge(o, h)
	r.Dir = filepath.ToSlash(dir)
	if cut {
		a.notes.say("%s", printable.Line(dir+": "+cutShort(h)))
	}
	a.notes.say("%s", printable.Line(fmt.Sprintf("%s: %s  %s", dir, reports.Line(r), a.asSaved(dir, r))))
	return r, nil
}

// knownPlan refuses the plan of another program, or of a later version, whose
// words may mean something else.
func knownPlan(p history.Plan) error {
	if slices.Contains([]string{history.PlanSchema, history.PlanSchemaV1}, p.Schema) {
		return nil
	}
	return fmt.Errorf("the schema of its plan is %q, not %s", p.Schema, history.PlanSchema)
}

// cutShort says how far a truncated history goes.
func cutShort(h history.History) string {
	if len(h.Events) == 0 {
		return "the history ends in the middle of its first line; there is nothing to judge"
	}
	last := h.Events[len(h.Events)-1]
	return fmt.Sprintf("the history ends in the middle of a line; judged are its %d events up to %.3f s", len(h.Events), last.At.Seconds())
}

// judge applies all checks. A simulated run meets no gate by itself.
func (a *app) judge(o *checkOptions, h history.History) result.Run {
	r := engine.Judge(h, a.checks)
	if r.Simulated && !o.AllowSimulated {
		r.Gate = result.GateUnresolved
	}
	return r
}

// asSaved compares r with what the run itself came to.
func (a *app) asSaved(dir string, r result.Run) string {
	saved, err := readResults(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "the run has saved no result"
	case err != nil:
		return fmt.Sprintf("the saved result can't be read: %v", err)
	case len(saved) != 1:
		return fmt.Sprintf("the saved result has %d runs, not one", len(saved))
	}
	if differences := differing(saved[0], r); len(differences) > 0 {
		return "NOT AS SAVED: " + strings.Join(differences, ", ")
	}
	return "as saved"
}

// differing says in which numbers and words two results of one run differ.
func differing(saved, now result.Run) []string {
	var found []string
	for _, d := range []struct {
		what       string
		saved, now any
	}{
		{"the verdict", saved.Verdict, now.Verdict},
		{"sold", saved.Sold, now.Sold},
		{"left", saved.Stock.Left, now.Stock.Left},
		{"double holds", saved.DoubleHolds, now.DoubleHolds},
		{"lost updates", saved.LostUpdates, now.LostUpdates},
		{"refused by the fence", saved.FenceRefused, now.FenceRefused},
	} {
		if d.saved != d.now {
			found = append(found, fmt.Sprintf("%s was saved as %v and is %v", d.what, d.saved, d.now))
		}
	}
	return found
}

// judgeStdin judges the history on stdin.
func (a *app) judgeStdin(o *checkOptions) (result.Run, error) {
	events, err := history.Read(a.in)
	cut := errors.Is(err, history.ErrTruncated)
	if err != nil && !cut {
		return result.Run{}, hint.Wrap(&codeError{exitUsage, fmt.Errorf("stdin: %w", err)}, "a history is the history.jsonl of a run's folder; --map reads a shop's own log")
	}
	h := history.History{Events: events}
	switch planned := history.Planned(events); {
	case o.Plan != "":
		if h.Plan, err = readPlan(o.Plan); err != nil {
			return result.Run{}, err
		}
	case planned != nil:
		if h.Plan = *planned; knownPlan(h.Plan) != nil {
			return result.Run{}, &codeError{exitUsage, fmt.Errorf("stdin: %w", knownPlan(h.Plan))}
		}
	default:
		return result.Run{}, hint.Wrap(usagef("the history on stdin doesn't say what was planned"), "name the plan.json that belongs to it with --plan; a shop's own log needs --map")
	}
	r := a.judge(o, h)
	if cut {
		a.notes.say("stdin: %s", cutShort(h))
	}
	a.notes.say("stdin: %s", printable.Line(reports.Line(r)))
	return r, nil
}

func readPlan(path string) (p history.Plan, err error) {
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err == nil {
		err = knownPlan(p)
	}
	if err != nil {
		return p, hint.Wrap(&codeError{exitUsage, fmt.Errorf("--plan %s: %w", path, err)}, "name the plan.json of the run's folder")
	}
	return p, nil
}
