package reports_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/internal/historytest"
	"github.com/oversell/oversell/internal/printable"
	"github.com/oversell/oversell/internal/retrace"
	"github.com/oversell/oversell/internal/timeline"
	"github.com/oversell/oversell/reports"
	"github.com/oversell/oversell/result"
)

// drawing draws the same history for every run.
func drawing(x told) func(result.Run, timeline.Budget) (*timeline.Timeline, error) {
	return func(_ result.Run, b timeline.Budget) (*timeline.Timeline, error) {
		return retrace.Timeline(x.h, x.r, b), nil
	}
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

func TestLanesAreAsWideAsTheTerminal(t *testing.T) {
	t.Parallel()
	x := recorded(t, historytest.Naive)
	for name, opts := range map[string]reports.Options{
		"lanes.txt": {}, "lanes-60.txt": {Width: 60}, "lanes-140.txt": {Width: 140}, "lanes-colour.txt": {Width: 80, Color: true},
	} {
		opts.Timeline = drawing(x)
		text := write(t, reports.Text(), []result.Run{x.r}, opts)
		_, lanes, found := strings.Cut(text, "Timeline of the first violation")
		require.True(t, found, name)
		lanes, _, _ = strings.Cut(lanes, "Files:")
		for line := range strings.Lines(lanes) {
			if opts.Width > 0 {
				assert.LessOrEqual(t, printable.Width(strings.TrimSuffix(escapes.ReplaceAllString(line, ""), "\n")), opts.Width, "%s: %q", name, line)
			}
		}
		assertGolden(t, name, text)
	}
}

func TestLanesOfTheIncident(t *testing.T) {
	t.Parallel()
	h := historytest.Incident().History()
	r := result.Run{Scenario: "ttl-expiry", Lock: "naive", Verdict: result.Oversold, Gate: result.Pass, Sold: 3, Oversold: 1, Stock: result.Stock{Initial: 2}}
	text := write(t, reports.Text(), []result.Run{r}, reports.Options{Width: 100, Timeline: drawing(told{h, r})})
	row := func(name string) string {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "    "+name) {
				return line
			}
		}
		return ""
	}
	assert.Contains(t, row("instance 1"), "buyer 1")
	assert.Regexp(t, `=!+#`, row("instance 1"), "inside without the key, up to a stale sale")
	assert.Regexp(t, `=\$`, row("instance 2"))
	assert.Regexp(t, `\^{10}`, row("two inside"))
	assert.Regexp(t, `1-+ ?2-+`, row("Redis"))
	assert.Regexp(t, `2 +1 +1`, row("stock"))
	assert.Contains(t, row("faults"), "slow-call")
}

func TestASafeRunHasNoLanes(t *testing.T) {
	t.Parallel()
	x := recorded(t, historytest.Safe)
	assert.NotContains(t, write(t, reports.Text(), []result.Run{x.r}, reports.Options{Timeline: drawing(x)}), "Timeline")
}
