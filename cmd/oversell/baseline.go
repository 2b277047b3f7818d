package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/oversell/oversell/internal/engine"
	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/result"
)

// baselineOptions are the flags that compare with an earlier invocation.
type baselineOptions struct {
	Baselines []string
	FailOn    string
}

// The values of --fail-on.
const (
	failOnAll = "all"
	failOnNew = "new"
)

var failOnWords = []string{failOnAll, failOnNew}

func addBaselineFlags(f *pflag.FlagSet, o *baselineOptions) {
	f.StringArrayVar(&o.Baselines, "baseline", nil, "results of an earlier invocation, as JSON or NDJSON, or a run's folder, repeatable: say what is new, still there and fixed")
	f.StringVar(&o.FailOn, "fail-on", failOnAll, "with --baseline: which failed gates fail the invocation: "+strings.Join(failOnWords, ", "))
}

// baseline is what runs are compared with; nil for none.
type baseline struct {
	runs    []result.Run
	matched []bool
	accept  bool // what was there before doesn't fail the invocation
}

// baseline reads what --baseline names.
func (o *baselineOptions) baseline() (*baseline, error) {
	if o.FailOn != "" && !slices.Contains(failOnWords, o.FailOn) {
		return nil, unknown("value of --fail-on", o.FailOn, failOnWords)
	}
	if len(o.Baselines) == 0 {
		if o.FailOn == failOnNew {
			return nil, hint.Wrap(usagef("--fail-on %s needs a --baseline", o.FailOn), "name the results of an earlier invocation, for example --baseline old/result.json")
		}
		return nil, nil
	}
	b := &baseline{accept: o.FailOn == failOnNew}
	for _, path := range o.Baselines {
		runs, err := readResults(path)
		if err != nil {
			return nil, hint.Wrap(&codeError{exitUsage, fmt.Errorf("--baseline: %w", err)}, "name a run's result.json, or what --output json or ndjson has written")
		}
		b.runs = append(b.runs, runs...)
	}
	b.matched = make([]bool, len(b.runs))
	return b, nil
}

// maxResults bounds a file of results, in bytes.
const maxResults = 1 << 30

// readResults reads runs from a file with a document or with lines, or from a
// run's folder.
func readResults(path string) ([]result.Run, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, engine.ResultFile)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dec := json.NewDecoder(io.LimitReader(f, maxResults))
	var runs []result.Run
	for {
		var raw json.RawMessage
		err := dec.Decode(&raw)
		if errors.Is(err, io.EOF) && len(runs) > 0 {
			return runs, nil
		}
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s has no run in it", path)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		more, err := runsIn(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		runs = append(runs, more...)
	}
}

// runsIn reads one document, or one line.
func runsIn(raw json.RawMessage) ([]result.Run, error) {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, fmt.Errorf("it holds no results: %.40s", bytes.TrimSpace(raw))
	}
	switch head.Schema {
	case result.Schema:
		var d result.Document
		err := json.Unmarshal(raw, &d)
		return d.Runs, err
	case result.LineSchema:
		var l result.Line
		err := json.Unmarshal(raw, &l)
		return []result.Run{l.Run}, err
	}
	return nil, fmt.Errorf("its schema is %q, not %s or %s", head.Schema, result.Schema, result.LineSchema)
}

// compare says in r what became of it. It may be nil.
func (b *baseline) compare(r result.Run) result.Run {
	if b == nil {
		return r
	}
	since := result.Compare(r, b.find(r))
	since.Accepted = b.accept && since.State == result.Still && r.Gate == result.Fail
	r.Baseline = &since
	return r
}

// find is the baseline's run of the same scenario and lock, by preference on
// the same server and backend, or nil.
func (b *baseline) find(r result.Run) *result.Run {
	var best *result.Run
	likest := -1
	for i := range b.runs {
		old := &b.runs[i]
		if old.Scenario != r.Scenario || old.Lock != r.Lock {
			continue
		}
		b.matched[i] = true
		alike := 0
		if old.Server == r.Server {
			alike += 2
		}
		if old.Backend == r.Backend {
			alike++
		}
		if alike > likest {
			best, likest = old, alike
		}
	}
	return best
}

// rest says which runs of the baseline weren't played this time: of them
// nothing is new, still there or fixed. It is empty when there are none.
func (b *baseline) rest() string {
	if b == nil {
		return ""
	}
	var names []string
	for i, r := range b.runs {
		name := r.Scenario + " under " + r.Lock
		if !b.matched[i] && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	more := ""
	if n := len(names) - 5; n > 0 {
		names, more = names[:5], fmt.Sprintf(" and %d more", n)
	}
	return "in the baseline, and not played now: " + strings.Join(names, ", ") + more
}
