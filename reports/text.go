package reports

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/oversell/oversell/internal/printable"
	"github.com/oversell/oversell/internal/timeline"
	"github.com/oversell/oversell/result"
)

// defaultWidth is where stories wrap when the writer isn't a terminal.
const defaultWidth = 100

// minWidth keeps stories readable on a terminal that is hardly one.
const minWidth = 40

// Text is for people: a table, a story for every run that has one, the gate,
// and as the last line the command that repeats it all.
func Text() Format {
	return Format{
		Name:    "text",
		Ext:     "txt",
		Summary: "a table, a short story of each failure, and the command that repeats the run",
		Write:   writeText,
	}
}

func writeText(w io.Writer, runs []result.Run, opts Options) error {
	p := newPalette(opts.Color)
	width := defaultWidth
	if opts.Width > 0 {
		width = max(opts.Width, minWidth)
	}
	raw := runs
	runs = scrub(runs, forTerminal)
	var buf bytes.Buffer
	if len(runs) > 0 {
		writeBanner(&buf, runs, p, width)
		buf.WriteString(tableOf(runs, p, opts.Width))
		buf.WriteByte('\n')
	}
	writeTrials(&buf, runs, width)
	for i, r := range runs {
		if plain(r) {
			continue
		}
		writeStory(&buf, r, p, width)
		if opts.Timeline != nil {
			t, err := opts.Timeline(raw[i], timeline.Ordinary())
			switch {
			case err != nil:
				writeWrapped(&buf, "No timeline: "+forTerminal(err.Error(), maxProse), "  ", "    ", width, fmt.Sprint)
			case t != nil:
				writeLanes(&buf, t, p, width)
			}
		}
		if r.Dir != "" {
			writeWrapped(&buf, "Files: "+r.Dir, "  ", "    ", width, fmt.Sprint)
		}
		buf.WriteByte('\n')
	}
	writeGate(&buf, runs, p, width)
	writeBaseline(&buf, runs, width)
	writeCommands(&buf, runs, p)
	return flush(w, &buf)
}

func forTerminal(s string, max int) string {
	s = printable.Line(s)
	if max > 0 {
		s = printable.Cut(s, max)
	}
	return s
}

// writeBanner says in big letters which results don't come from real servers.
func writeBanner(buf *bytes.Buffer, runs []result.Run, p palette, width int) {
	text := simulatedWords(runs)
	if text == "" {
		return
	}
	writeWrapped(buf, text, "", "", width, p.doubtful)
	buf.WriteByte('\n')
}

// simulatedWords are empty when every result comes from real servers.
func simulatedWords(runs []result.Run) string {
	simulated := 0
	for _, r := range runs {
		if r.Simulated {
			simulated++
		}
	}
	if simulated == 0 {
		return ""
	}
	which := "these results"
	if simulated < len(runs) {
		which = fmt.Sprintf("%d of these %d results", simulated, len(runs))
	}
	return "SIMULATED: " + which + " come from an imitation of Redis inside this process, not from real servers."
}

// writeTrials says of every run that was played several times what that allows
// one to say. It never says "never".
func writeTrials(buf *bytes.Buffer, runs []result.Run, width int) {
	told := false
	for _, r := range runs {
		if r.Trials > 1 {
			writeWrapped(buf, fmt.Sprintf("%s, %s: violations in %s", r.Scenario, lockName(r), trials(r)), "", "  ", width, fmt.Sprint)
			told = true
		}
	}
	if told {
		buf.WriteByte('\n')
	}
}

func writeStory(buf *bytes.Buffer, r result.Run, p palette, width int) {
	writeWrapped(buf, fmt.Sprintf("%s, %s: %s", r.Scenario, lockName(r), asExpected(r)), "", "  ", width, p.strong)
	writeWrapped(buf, counts(r), "  ", "  ", width, fmt.Sprint)
	writeWrapped(buf, place(r), "  ", "  ", width, fmt.Sprint)
	for _, s := range sections(r) {
		if len(s.lines) == 1 && !s.timed {
			writeWrapped(buf, s.title+": "+s.lines[0], "  ", "    ", width, fmt.Sprint)
			continue
		}
		buf.WriteString("  " + s.title + ":\n")
		for _, line := range s.lines {
			writeWrapped(buf, line, "    ", hanging(line, "      "), width, fmt.Sprint)
		}
	}
}

// hanging is the indent of a story's further lines: where the words after the
// time begin, or otherwise the given one.
func hanging(line, otherwise string) string {
	if gap := strings.Index(line, "  "); gap > 0 && gap <= 12 {
		return strings.Repeat(" ", 4+gap+2)
	}
	return otherwise
}

func writeWrapped(buf *bytes.Buffer, s, first, next string, width int, paint func(...any) string) {
	for _, line := range wrap(s, first, next, width) {
		buf.WriteString(paint(line) + "\n")
	}
}

func writeGate(buf *bytes.Buffer, runs []result.Run, p palette, width int) {
	gate := result.NewDocument(runs).Gate
	loud := strings.ToUpper(gateName(gate))
	why := whyGate(gate, runs)
	if gate == result.Pass && slices.ContainsFunc(runs, func(r result.Run) bool { return r.Simulated }) {
		why += "; on SIMULATED servers"
	}
	lines := wrap("Gate: "+loud+" — "+why+".", "", "  ", width)
	lines[0] = strings.Replace(lines[0], loud, p.gateLoud(gate), 1)
	buf.WriteString(strings.Join(lines, "\n") + "\n")
}

// maxReasons is how many runs the gate line names one by one.
const maxReasons = 4

// whyGate names the runs that made the gate what it is.
func whyGate(gate result.Gate, runs []result.Run) string {
	var reasons []string
	for _, r := range runs {
		if gateName(r.Counted()) != gateName(gate) {
			continue
		}
		if sameScenario(runs) {
			reasons = append(reasons, reason(r))
		} else {
			reasons = append(reasons, r.Scenario+": "+reason(r))
		}
	}
	switch {
	case len(runs) == 0:
		return "nothing was run"
	case len(reasons) > maxReasons && gate == result.Pass:
		return fmt.Sprintf("all %d runs came out as expected", len(runs))
	case len(reasons) > maxReasons:
		more := len(reasons) - maxReasons
		reasons = append(reasons[:maxReasons:maxReasons], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(reasons, "; ")
}

// writeCommands ends the report with the command that repeats the run, on a
// line of its own and never wrapped, so that it can be taken as it is.
func writeCommands(buf *bytes.Buffer, runs []result.Run, p palette) {
	commands := commandsOf(runs)
	if len(commands) == 0 {
		return
	}
	buf.WriteString("\nTo repeat:\n")
	for _, c := range commands {
		buf.WriteString(p.strong(c) + "\n")
	}
}

// commandsOf are the distinct commands that repeat the runs.
func commandsOf(runs []result.Run) []string {
	var commands []string
	for _, r := range runs {
		if r.Command != "" && !slices.Contains(commands, r.Command) {
			commands = append(commands, r.Command)
		}
	}
	return commands
}
