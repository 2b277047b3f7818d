package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/oversell/oversell/result"
)

// What is beyond these stays in the run's own files: a report is read by people.
const (
	maxStory    = 40
	maxEvidence = 5
	maxFindings = 10
	maxEvents   = 8
)

// A section is a titled list of lines about one run.
type section struct {
	title string
	timed bool // lines begin with a moment of the run
	lines []string
}

// sections tells a run: what happened, what proves it, and what the servers
// showed meanwhile. Empty sections are left out.
func sections(r result.Run) []section {
	all := []section{
		{"What happened", true, capped(r.Story, maxStory, r)},
		{"Evidence", true, capped(evidence(r), maxEvidence, r)},
		{"Findings", false, capped(findings(r), maxFindings, r)},
		{"Green, and wrong", false, greenAndWrong(r)},
		{"Advice", false, advice(r)},
	}
	var filled []section
	for _, s := range all {
		if len(s.lines) > 0 {
			filled = append(filled, s)
		}
	}
	return filled
}

func evidence(r result.Run) []string {
	lines := make([]string, len(r.Evidence))
	for i, e := range r.Evidence {
		lines[i] = fmt.Sprintf("%s  %s: %s", at(e.AtMS), e.Fault, e.Proof)
	}
	return lines
}

func findings(r result.Run) []string {
	worstFirst := slices.SortedStableFunc(slices.Values(r.Findings), func(a, b result.Finding) int {
		return cmp.Compare(weight(a), weight(b))
	})
	lines := make([]string, len(worstFirst))
	for i, f := range worstFirst {
		harmless := "" // what led to a violation is not, even if it is none by itself
		if r.Verdict == result.OK && f.Verdict == result.OK && !f.Voids {
			harmless = " (harmless)"
		}
		lines[i] = fmt.Sprintf("%s%s: %s%s", f.Property, harmless, f.Text, eventNumbers(f.Events))
	}
	return lines
}

// weight orders findings: first what makes the others void, then worst first.
func weight(f result.Finding) int {
	if f.Voids {
		return -1
	}
	return slices.Index(result.Verdicts(), f.Verdict)
}

func eventNumbers(events []int64) string {
	if len(events) == 0 {
		return ""
	}
	shown := events[:min(len(events), maxEvents)]
	numbers := make([]string, len(shown))
	for i, n := range shown {
		numbers[i] = strconv.FormatInt(n, 10)
	}
	more := ""
	if len(events) > len(shown) {
		more = ", ..."
	}
	return " (events " + strings.Join(numbers, ", ") + more + ")"
}

// capped returns at most n lines, and where to find the others.
func capped(lines []string, n int, r result.Run) []string {
	if len(lines) <= n {
		return lines
	}
	where := "the JSON report"
	if r.Dir != "" {
		where = r.Dir
	}
	return append(lines[:n:n], fmt.Sprintf("... and %d more in %s", len(lines)-n, where))
}

// greenAndWrong is what a dashboard of the lock's server showed while units
// were sold twice: nothing.
func greenAndWrong(r result.Run) []string {
	if r.Verdict != result.Oversold {
		return nil
	}
	var parts []string
	for _, m := range []struct {
		name string
		show func(float64) string
	}{
		{result.InfoCPU, func(n float64) string { return fmt.Sprintf("CPU %.0f %%", n) }},
		{result.InfoMemory, func(n float64) string { return fmt.Sprintf("memory %.1f MB", n/1e6) }},
		{result.InfoSlowLog, func(n float64) string { return "slow log " + count(n, "entry", "entries") }},
		{result.InfoConnections, func(n float64) string { return count(n, "connection", "connections") }},
		{result.InfoCommands, func(n float64) string { return count(n, "command/s", "commands/s") }},
	} {
		if n, ok := number(r.ServerInfo[m.name]); ok {
			parts = append(parts, m.show(n))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{strings.Join(parts, ", ")}
}

// advice is for the owner of a shop that has oversold.
func advice(r result.Run) []string {
	if text := Advice(r); text != "" && r.Verdict == result.Oversold {
		return []string{text}
	}
	return nil
}

func count(n float64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%.0f %s", n, many)
}

// number reads a value of Run.ServerInfo, be it fresh or read back from JSON.
func number(v any) (float64, bool) {
	switch n := v.(type) {
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	case uint64:
		return float64(n), true
	case float64:
		return n, n-n == 0 // neither NaN nor infinite
	default:
		return 0, false
	}
}
