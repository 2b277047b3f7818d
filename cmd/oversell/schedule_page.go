package main

import (
	"fmt"
	"io"

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

// schedulePage is a schedule in the words of a report.
func (a *app) schedulePage(s explore.Schedule, path string) reports.Schedule {
	lock := s.Lock
	c := explore.Case{Buyers: s.Buyers, Stock: s.Stock, Hazards: s.Hazards, Faults: s.Faults, Preemptions: s.Preemptions}
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
