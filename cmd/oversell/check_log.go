package main

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/oversell/oversell/checks"
	"github.com/oversell/oversell/internal/engine"
	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/internal/printable"
	"github.com/oversell/oversell/internal/shoplog"
	"github.com/oversell/oversell/reports"
	"github.com/oversell/oversell/result"
)

// judgeLog judges a shop's own log, each article by itself.
func (a *app) judgeLog(o *checkOptions, judged func(result.Run)) error {
	m, err := readMapping(o)
	if err != nil {
		return err
	}
	log := shoplog.NewLog(m)
	for _, path := range o.Args {
		if err := a.readLog(log, path); err != nil {
			return hint.Wrap(&codeError{exitUsage, err}, "the mapping %s says which fields a line has; docs/ci.md explains it", o.Map)
		}
	}
	a.notes.say("%d lines, %d of them about the lock and the stock", log.Lines, log.Known)
	if log.Strange > 0 {
		a.notes.say("lines that aren't JSON objects, passed over: %d", log.Strange)
	}
	if log.Known == 0 {
		return hint.Wrap(usagef("no line of the log is an event that %s names", o.Map), "the field %q has to hold one of the words below events", m.Event)
	}
	for _, s := range log.Stories() {
		r := a.judgeStory(m, s)
		a.notes.say("log: %s", printable.Line(reports.Line(r)))
		judged(r)
	}
	return nil
}

func readMapping(o *checkOptions) (shoplog.Mapping, error) {
	wrong := func(err error) error {
		return hint.Wrap(&codeError{exitUsage, fmt.Errorf("--map: %w", err)}, "docs/ci.md explains the mapping, with an example")
	}
	f, err := os.Open(o.Map)
	if err != nil {
		return shoplog.Mapping{}, wrong(err)
	}
	defer f.Close()
	m, err := shoplog.ReadMapping(f, o.Map)
	if err != nil {
		return m, wrong(err)
	}
	if o.Stock != nil {
		m.Stock = o.Stock
	}
	return m, nil
}

func (a *app) readLog(log *shoplog.Log, path string) error {
	if path == stdinArg {
		return log.Read(a.in, "stdin")
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return log.Read(io.Reader(f), path)
}

// judgeStory applies the checks that a log can answer. Where the mapping
// claims no fence, two holders at once are a violation by themselves: the lock
// told one of them something untrue.
func (a *app) judgeStory(m shoplog.Mapping, s shoplog.Story) result.Run {
	list := slices.DeleteFunc(slices.Clone(a.checks), func(c checks.Check) bool {
		switch c.Property {
		case result.Reconciliation:
			return !s.Sales
		case result.Exclusion:
			return !s.Locks
		}
		return true
	})
	r := engine.Judge(s.History, list)
	for i, f := range r.Findings {
		if f.Property == result.Exclusion && f.Verdict == result.OK && !m.Fenced {
			r.Findings[i].Verdict = result.Misreported
		}
	}
	r.Findings = append(r.Findings, s.Doubts...)
	r.Verdict = result.VerdictOf(r.Findings)
	r.Gate = r.Expected.Judge(r.Verdict)
	r.Backend, r.Server = "log", "a shop's own log"
	r.Violations, r.Inconclusive, r.Verdicts = 0, 0, map[result.Verdict]int{r.Verdict: 1}
	if r.Verdict.Violation() {
		r.Violations = 1
	}
	if r.Verdict == result.Inconclusive {
		r.Inconclusive = 1
	}
	return s.Retold(r)
}
