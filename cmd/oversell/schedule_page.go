package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/oversell/oversell/internal/explore"
	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/reports"
)

// scheduleFormats are the reports about schedules.
func (a *app) scheduleFormats() []reports.Format {
	html := reports.HTML()
	return []reports.Format{{Name: html.Name, Ext: html.Ext, Summary: "one page, with a column for each buyer and the key between them"}}
}

// reportSchedules is `oversell report` of schedule files.
func (a *app) reportSchedules(o *reportOptions, schedules []explore.Schedule, err error) error {
	if err != nil {
		return err
	}
	if len(o.Outputs) == 0 {
		return hint.Wrap(usagef("a schedule's report needs a place"), "for example --output html=schedule.html; oversell replay tells it as text")
	}
	outputs, err := outputsOf(o.Outputs, a.scheduleFormats())
	if err != nil {
		return err
	}
	pages := make([]reports.Schedule, len(schedules))
	for i, s := range schedules {
		pages[i] = a.schedulePage(s, o.Paths[i])
	}
	return a.writeOutputs(outputs, false, func(_ output, w io.Writer, _ reports.Options) error {
		return reports.WriteSchedules(w, pages)
	})
}

// format is the name of the output, and path where it goes, "" for stdout.
func (o *exploreOptions) format() string {
	name, _, _ := strings.Cut(o.Output, "=")
	return name
}

func (o *exploreOptions) path() string {
	_, path, _ := strings.Cut(o.Output, "=")
	if path == "-" {
		return ""
	}
	return path
}

// checkOutput refuses outputs that can't be written: only pages go to files,
// and they are about schedules, not about a table.
func (o *exploreOptions) checkOutput() error {
	name, path, named := strings.Cut(o.Output, "=")
	switch {
	case named && name != "html":
		return hint.Wrap(usagef("--output %s: only html goes to a file", o.Output), "the others go to stdout")
	case named && path == "":
		return hint.Wrap(usagef("--output %q names no file", o.Output), "for example --output html=counterexample.html")
	case name == "html" && o.All:
		return hint.Wrap(usagef("--all makes a table, and no page"), "explore single locks, or choose --output markdown")
	}
	return nil
}

// writeExplorationPage writes a page of all schedules that were found, and says
// how each exploration ended on stderr.
func (a *app) writeExplorationPage(o *exploreOptions, done []exploration) error {
	var pages []reports.Schedule
	for _, x := range done {
		if x.not != nil {
			a.notes.say("%s: not explored: %v", x.c.Kind.Name, x.not)
			continue
		}
		a.notes.say("%s: %s", x.c.Kind.Name, ending(x.report))
		for _, found := range x.report.Found {
			pages = append(pages, a.schedulePage(found.Schedule(), x.files[string(found.Property)]))
		}
	}
	if len(pages) == 0 {
		a.notes.say("nothing was found, so there is nothing to draw")
		return nil
	}
	write := func(w io.Writer) error { return reports.WriteSchedules(w, pages) }
	if o.path() == "" {
		return write(a.out)
	}
	return environment(writeFile(filepath.Clean(o.path()), write))
}

// schedulePage is a schedule in the words of a report.
func (a *app) schedulePage(s explore.Schedule, path string) reports.Schedule {
	lock := s.Lock
	c := explore.Case{Buyers: s.Buyers, Masters: s.Masters, Stock: s.Stock, Hazards: s.Hazards, Faults: s.Faults, Preemptions: s.Preemptions}
	if k, err := a.findKind(s.Lock); err == nil {
		c = s.Case(k)
		if k.Alias != "" {
			lock += " (" + k.Alias + ")"
		}
	}
	page := reports.Schedule{
		Lock: lock, Broke: string(s.Property), Case: caseText(c), Tale: s.Tale, Stock: s.Stock,
	}
	page.How = fmt.Sprintf("%d events; no event of it can be left out", len(s.Steps))
	if s.Shortest {
		page.How = fmt.Sprintf("%d events; no shorter schedule does this under these hazards and bounds", len(s.Steps))
	}
	if path != "" {
		page.Command = a.program + " replay " + shellQuote(path) + " --backend docker"
	}
	for n := range s.Buyers {
		page.Buyers = append(page.Buyers, string(rune('A'+n)))
	}
	for _, st := range s.Steps {
		page.Steps = append(page.Steps, reports.ScheduleStep{
			At: st.At, Buyer: st.Buyer, Text: st.Text, Command: st.Command, Key: st.Key, Stock: st.Stock, Orders: st.Orders,
		})
	}
	return page
}
