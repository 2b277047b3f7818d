package main

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"strings"

	"github.com/oversell/oversell/reports"
	"github.com/oversell/oversell/result"
)

const (
	// maxSummary is how long a step's summary may get on GitHub, with room to
	// spare: beyond 1 MiB it is refused whole.
	maxSummary = 900 << 10
	// maxAnnotations is how many of a step's errors GitHub shows.
	maxAnnotations = 10
)

// tellGitHub appends runs to the summary of the job and marks gates that aren't
// met, when GitHub Actions runs this. What goes wrong there is said, and
// changes no exit code.
func (a *app) tellGitHub(runs []result.Run) {
	a.summarize(func(w io.Writer, room int) error {
		return reports.Markdown().Write(w, runs, reports.Options{Bytes: room})
	})
	a.annotate(runs)
}

// annotate marks gates that aren't met for GitHub Actions.
func (a *app) annotate(runs []result.Run) {
	if !a.onGitHub() {
		return
	}
	for _, line := range annotations(runs) {
		a.notes.say("%s", line)
	}
}

func (a *app) onGitHub() bool {
	on := a.env("GITHUB_ACTIONS")
	return on != "" && on != "false"
}

// summarize appends to $GITHUB_STEP_SUMMARY, where there is one, what write
// makes of the room that is left in it.
func (a *app) summarize(write func(w io.Writer, room int) error) {
	path := a.env("GITHUB_STEP_SUMMARY")
	if path == "" {
		return
	}
	if err := appendSummary(path, write); err != nil {
		a.notes.say("warning: the summary of the job has nothing about this: %v", err)
	}
}

func appendSummary(path string, write func(w io.Writer, room int) error) (err error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	var buf bytes.Buffer
	if info.Size() > 0 {
		buf.WriteByte('\n')
	}
	room := maxSummary - int(min(info.Size(), maxSummary)) - buf.Len()
	if room <= 0 {
		return fmt.Errorf("%s is full: it has %d bytes", path, info.Size())
	}
	start := buf.Len()
	if err := write(&buf, room); err != nil {
		return err
	}
	if n := buf.Len() - start; n > room {
		return fmt.Errorf("%s has room for %d bytes, not for %d", path, room, n)
	}
	_, err = buf.WriteTo(f)
	return err
}

// folded is text for a summary, shown as it stands.
func folded(title, text string) func(io.Writer, int) error {
	return func(w io.Writer, _ int) error {
		_, err := fmt.Fprintf(w, "## oversell: %s\n\n<pre>\n%s</pre>\n", html.EscapeString(title), html.EscapeString(text))
		return err
	}
}

// annotations are GitHub's workflow commands for the gates that aren't met, ten
// at most. When there are more, the last one counts the others.
func annotations(runs []result.Run) []string {
	var lines []string
	more := 0
	for _, r := range runs {
		if r.Counted() == result.Pass {
			continue
		}
		if len(lines) == maxAnnotations {
			more++
			continue
		}
		title, text := reports.Annotation(r)
		lines = append(lines, annotation(title, text))
	}
	if more > 0 {
		lines[maxAnnotations-1] = annotation("oversell", fmt.Sprintf("%d more gates are not met; the summary of the job and the reports have them all", more+1))
	}
	return lines
}

var (
	commandText     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	commandProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func annotation(title, text string) string {
	return "::error title=" + commandProperty.Replace(title) + "::" + commandText.Replace(text)
}
