// Package reports writes runs in the formats that people and programs read.
package reports

import (
	"io"

	"github.com/oversell/oversell/internal/timeline"
	"github.com/oversell/oversell/result"
)

// Format is one way to write runs down. Write doesn't change the runs.
type Format struct {
	Name    string // the word behind --output
	Ext     string // file name extension, without the dot
	Summary string // one line
	Write   func(w io.Writer, runs []result.Run, opts Options) error
	// Each, where a format has it, writes one run. What it writes for all runs,
	// one after the other, is what Write writes: such a format can be written
	// while the runs still go on.
	Each func(w io.Writer, r result.Run, opts Options) error
}

// Options are about the place that a report is written to, and about what there
// is besides the runs' results.
type Options struct {
	Color bool // the writer understands ANSI colours
	Width int  // columns of the terminal, 0 when it isn't one
	Bytes int  // how long the report may get, 0 for what the format itself allows; only Markdown heeds it
	// Timeline draws up what happened in a run, within a budget. It returns nil
	// for a run without a history. May be nil.
	Timeline func(result.Run, timeline.Budget) (*timeline.Timeline, error)
}
