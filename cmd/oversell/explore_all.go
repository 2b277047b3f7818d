package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/oversell/oversell/internal/explore"
)

// exploreAll is the table of every lock kind under every hazard by itself, and
// without any.
func (a *app) exploreAll(ctx context.Context, o *exploreOptions, cases []explore.Case) error {
	t := table{header: []string{"lock", "none"}}
	columns := []string{"none"}
	for _, h := range explore.Hazards() {
		t.header = append(t.header, string(h.Hazard))
		columns = append(columns, string(h.Hazard))
	}
	const together = "together"
	if o.Together {
		t.header = append(t.header, strings.Join(o.Hazards, ", ")+" together")
		columns = append(columns, together)
	}
	var not []string
	var all []exploration
	for _, c := range cases {
		if no := explore.Unexplorable(c.Kind); no != nil {
			not = append(not, no.Error())
			all = append(all, exploration{c: c, not: no})
			continue
		}
		row := []string{rowName(c)}
		for _, column := range columns {
			one := c
			if column != together {
				one.Hazards, _ = explore.ParseHazards([]string{column}) // words of the list
				one = one.Within(explore.Bounds{Preemptions: o.bounds.Preemptions})
			}
			cell, x := a.exploreCell(ctx, o, one)
			row, all = append(row, cell), append(all, x)
			if interrupted(ctx) {
				break
			}
			if x.not != nil { // it is the lock's way, not the hazard's
				line, _, _ := strings.Cut(x.not.Error(), "\n")
				if column == together { // what each hazard does by itself is known all the same
					line = "with all together, " + line
				}
				not = append(not, line)
				break
			}
		}
		if interrupted(ctx) {
			not = append(not, c.Kind.Name+" and the kinds after it: "+errBefore.Error()+" all was known")
			break
		}
		if len(row) < len(t.header) {
			continue
		}
		t.rows = append(t.rows, row)
		a.notes.say("%s", strings.Join(row, " | "))
	}
	if err := a.writeTable(o.Output, t, not, all); err != nil {
		return err
	}
	if interrupted(ctx) {
		return &codeError{exitInterrupted, errInterrupted}
	}
	return nil
}

// rowName says what a row of the table is about.
func rowName(c explore.Case) string {
	if c.Masters == 0 {
		return c.Kind.Name
	}
	return fmt.Sprintf("%s, %d masters", c.Kind.Name, c.Masters)
}

// exploreCell is one lock under one hazard, in a few words.
func (a *app) exploreCell(ctx context.Context, o *exploreOptions, c explore.Case) (string, exploration) {
	x, err := a.exploreCase(ctx, o, c)
	if err != nil {
		return "can't be explored", exploration{c: c, not: err}
	}
	if x.not != nil {
		return "not explored", x
	}
	r := x.report
	all := many(r.Counts.All)
	if r.Counts.Foreign > 0 {
		all += "; foreign release"
	}
	switch {
	case !r.Complete && r.Broke(explore.Oversold) != nil:
		return "**oversold**", x
	case !r.Complete:
		return fmt.Sprintf("unknown after %s", many(r.Runs)), x
	case r.Counts.Oversold > 0:
		return fmt.Sprintf("**oversold** %s of %s", many(r.Counts.Oversold), all), x
	case r.Counts.Mismatch > 0:
		return fmt.Sprintf("**mismatch** %s of %s", many(r.Counts.Mismatch), all), x
	case r.Counts.Stalled > 0:
		return fmt.Sprintf("**stalled** %s of %s", many(r.Counts.Stalled), all), x
	case r.Counts.Foreign > 0:
		return fmt.Sprintf("foreign release %s of %s", many(r.Counts.Foreign), many(r.Counts.All)), x
	}
	return "ok, all " + all, x
}

func (a *app) writeTable(format string, t table, not []string, all []exploration) error {
	if format == "json" {
		return writeJSON(a.out, explorationDocument(all))
	}
	var b strings.Builder
	if format == "markdown" {
		t.markdown(&b)
	} else {
		for _, row := range t.rows {
			for i := range row {
				row[i] = strings.ReplaceAll(row[i], "**", "")
			}
		}
		t.text(&b)
	}
	if len(not) > 0 {
		b.WriteString("\nNot explored:\n\n")
		for _, n := range not {
			b.WriteString("- " + n + "\n")
		}
	}
	_, err := io.WriteString(a.out, b.String())
	return err
}
