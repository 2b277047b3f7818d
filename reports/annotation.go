package reports

import (
	"fmt"

	"github.com/oversell/oversell/internal/printable"
	"github.com/oversell/oversell/result"
)

// Annotation is a run whose gate isn't met in a title and a few lines of
// printable text, for what build servers show beside a job.
func Annotation(r result.Run) (title, text string) {
	r = scrub([]result.Run{r}, forTerminal)[0]
	title = printable.Cut(fmt.Sprintf("oversell: %s, %s: %s", r.Scenario, lockName(r), r.Verdict), maxName)
	text = printable.Cut(reason(r), maxProse) + "\n" + counts(r)
	if len(r.Story) > 0 {
		text += "\n" + r.Story[0]
	}
	if r.Command != "" {
		text += "\nTo repeat: " + printable.Cut(r.Command, maxProse)
	}
	return title, text
}
