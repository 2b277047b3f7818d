package reports

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/oversell/oversell/result"
)

// changed are the states worth a line, in the order in which they are told.
var changed = []result.State{result.New, result.Still, result.Fixed}

// sinceBaseline compares runs with those of an earlier invocation: one line
// that counts, and a line for every run that was or is a problem. It is empty
// when nothing was compared.
func sinceBaseline(runs []result.Run) (sum string, lines []string) {
	count := map[result.State]int{}
	for _, state := range changed {
		for _, r := range runs {
			if r.Baseline != nil && r.Baseline.State == state {
				count[state]++
				lines = append(lines, since(r))
			}
		}
	}
	if !slices.ContainsFunc(runs, func(r result.Run) bool { return r.Baseline != nil }) {
		return "", nil
	}
	parts := make([]string, len(changed))
	for i, state := range changed {
		parts[i] = fmt.Sprintf("%d %s", count[state], state)
	}
	return "Against the baseline: " + strings.Join(parts, ", "), lines
}

// since tells one run: "new    ttl-expiry, fenced (safe): oversold; ok before".
func since(r result.Run) string {
	b := r.Baseline
	text := fmt.Sprintf("%-5s  %s, %s: %s", b.State, r.Scenario, lockName(r), r.Verdict)
	switch {
	case b.Verdict == "":
		text += "; not in the baseline"
	case b.Verdict != r.Verdict:
		text += fmt.Sprintf("; %s before", b.Verdict)
	case b.Gate != r.Gate:
		text += fmt.Sprintf("; the gate was %s before", gateName(b.Gate))
	}
	if b.Accepted {
		text += "; accepted, because it was there before"
	}
	return text
}

func writeBaseline(buf *bytes.Buffer, runs []result.Run, width int) {
	sum, lines := sinceBaseline(runs)
	if sum == "" {
		return
	}
	buf.WriteString("\n" + sum + "\n")
	for _, line := range lines {
		writeWrapped(buf, line, "  ", "         ", width, fmt.Sprint)
	}
}
