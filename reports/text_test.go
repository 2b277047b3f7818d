package reports_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/internal/printable"
	"github.com/oversell/oversell/reports"
	"github.com/oversell/oversell/result"
)

func TestTextWidths(t *testing.T) {
	t.Parallel()
	for _, c := range cases() {
		for _, width := range []int{60, 80, 100, 120, 200} {
			out := write(t, reports.Text(), c.runs, reports.Options{Width: width})
			body, _, _ := strings.Cut(out, "\nTo repeat:\n") // commands are never wrapped
			if c.name == "hostile" {
				continue // its names leave no room for a table that narrow
			}
			for line := range strings.Lines(body) {
				line = strings.TrimSuffix(line, "\n")
				assert.LessOrEqual(t, printable.Width(line), width, "%s at %d: %s", c.name, width, line)
				assert.Equal(t, strings.TrimRight(line, " "), line, "trailing spaces")
			}
		}
	}
	assertGolden(t, "pass-80.txt", write(t, reports.Text(), []result.Run{naive(), safe()}, reports.Options{Width: 80}))
	assertGolden(t, "scenarios-80.txt", write(t, reports.Text(), runsOf(cases(), "scenarios"), reports.Options{Width: 80}))
}

func TestTextWidthOfAnAbsurdTerminal(t *testing.T) {
	t.Parallel()
	for _, width := range []int{-1, 1, 2, 39} {
		out := write(t, reports.Text(), hostile(), reports.Options{Width: width})
		assert.Contains(t, out, "Gate: INCONCLUSIVE")
	}
}

func TestTextSaysEverythingWithoutColour(t *testing.T) {
	t.Parallel()
	sgr := regexp.MustCompile("\x1b\\[[0-9;]*m")
	for _, c := range cases() {
		for _, width := range []int{0, 80} {
			plain := write(t, reports.Text(), c.runs, reports.Options{Width: width})
			coloured := write(t, reports.Text(), c.runs, reports.Options{Width: width, Color: true})
			assert.NotContains(t, plain, "\x1b", c.name)
			assert.Equal(t, plain, sgr.ReplaceAllString(coloured, ""), "%s: colours change more than colours", c.name)
		}
	}
	assertGolden(t, "pass-colour.txt", write(t, reports.Text(), []result.Run{naive(), safe()}, reports.Options{Color: true}))
}

// The library for colours has an opinion of its own about both.
func TestTextColourIsDecidedByTheCaller(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	t.Setenv("TERM", "dumb")
	runs := []result.Run{naive()}
	assert.Contains(t, write(t, reports.Text(), runs, reports.Options{Color: true}), "\x1b[31moversold\x1b[0m")
	require.NoError(t, os.Unsetenv("NO_COLOR"))
	assert.NotContains(t, write(t, reports.Text(), runs, reports.Options{}), "\x1b")
}

func TestTextCannotBeMisusedByNames(t *testing.T) {
	t.Parallel()
	out := write(t, reports.Text(), hostile(), reports.Options{})
	for _, r := range out {
		assert.True(t, r == '\n' || unicode.IsPrint(r), "%U", r)
	}
	assert.Contains(t, out, `\x1b[31mred\x1b[0m \x00\x07\u202eevil`)
	assert.Less(t, len(out), 40_000)
}

func TestTextGateLine(t *testing.T) {
	t.Parallel()
	expecting := func(e result.Expectation, v result.Verdict, g result.Gate) result.Run {
		return with(safe(), func(r *result.Run) { r.Expected, r.Verdict, r.Gate = e, v, g })
	}
	five := make([]result.Run, 5)
	for i := range five {
		five[i] = safe()
	}
	fiveFailed := make([]result.Run, 6)
	for i := range fiveFailed {
		fiveFailed[i] = notProvoked()
	}
	crashed := with(notProvoked(), func(r *result.Run) { r.Scenario = "crash-before-expire" })
	for want, runs := range map[string][]result.Run{
		"Gate: INCONCLUSIVE — nothing was run.":                                                                                  nil,
		"Gate: PASS — naive was expected to break and did: oversold; safe came out ok, as expected.":                             {naive(), safe()},
		"Gate: PASS — all 5 runs came out as expected.":                                                                          five,
		"Gate: PASS — naive was expected to break and did: oversold; on SIMULATED servers.":                                      {simulated()},
		"Gate: FAIL — naive was expected to break and came out ok: the harness failed to provoke it.":                            {notProvoked(), safe(), inconclusive()},
		"Gate: FAIL — crash-before-expire: naive was expected to break and came out ok: the harness failed to provoke it.":       {crashed, safe()},
		"Gate: FAIL — safe was expected to come out ok and oversold: 100 sold of 100.":                                           {expecting("ok", "oversold", "fail")},
		"Gate: FAIL — safe was expected to come out ok and came out stalled.":                                                    {expecting("ok", "stalled", "fail")},
		"Gate: FAIL — safe was expected to come out stalled and came out mismatch.":                                              {expecting("stalled", "mismatch", "fail")},
		"Gate: PASS — safe came out stalled, as expected.":                                                                       {expecting("stalled", "stalled", "pass")},
		"Gate: INCONCLUSIVE — safe is inconclusive: this machine ran nothing for 412 ms, more than a third of the TTL (100 ms).": {inconclusive(), naive()},
		"Gate: INCONCLUSIVE — naive is inconclusive: its servers were SIMULATED, and only --allow-simulated lets such a result count.": {
			with(simulated(), func(r *result.Run) { r.Gate = result.GateUnresolved })},
		"Gate: INCONCLUSIVE — safe is inconclusive: nothing can be concluded from this run.":                                                   {expecting("ok", "inconclusive", "inconclusive")},
		"Gate: FAIL — " + strings.Repeat("naive was expected to break and came out ok: the harness failed to provoke it; ", 4) + "and 2 more.": fiveFailed,
	} {
		out := write(t, reports.Text(), runs, reports.Options{Width: 1000})
		assert.Contains(t, out, want+"\n")
	}
}

func TestTextEndsWithTheCommand(t *testing.T) {
	t.Parallel()
	last := func(runs ...result.Run) []string {
		out := write(t, reports.Text(), runs, reports.Options{Width: 60})
		_, commands, found := strings.Cut(out, "\nTo repeat:\n")
		if !found {
			return nil
		}
		return strings.Split(strings.TrimSuffix(commands, "\n"), "\n")
	}
	assert.Equal(t, []string{repeat}, last(naive(), safe()), "one command for all runs is said once, unwrapped")
	assert.Equal(t, []string{repeat, stalled().Command}, last(naive(), stalled(), safe()))
	assert.Nil(t, last(result.Run{Lock: "naive"}))
}

func TestTextStories(t *testing.T) {
	t.Parallel()
	out := write(t, reports.Text(), []result.Run{naive(), safe(), failover()}, reports.Options{Width: 200})
	assert.Contains(t, out, "\nttl-expiry, setnx-expire-del (naive): oversold, as expected\n", "what was expected is worth telling too")
	assert.Contains(t, out, "Green, and wrong: CPU 6 %, memory 1.3 MB, slow log 0 entries, 13 connections, 2614 commands/s\n")
	assert.NotContains(t, out, "ttl-expiry, fenced (safe)", "a lock that just held has no story")
	assert.Contains(t, out, "\nsentinel-failover, fenced (safe): ok, as expected\n", "a lock that the fence saved has one")
	assert.Contains(t, out, "two holders at once 1 time; fence refused 3 writes\n")
	assert.Contains(t, out, "exclusion (harmless): two holders at once; the fence refused")
	assert.Contains(t, out, "exclusion: purchase 2-17 and purchase 4-2 held the key at once", "where units were oversold it did harm")

	out = write(t, reports.Text(), []result.Run{long()}, reports.Options{Width: 200})
	assert.Contains(t, out, "    ... and 160 more in runs/20250101-120000-ttl-expiry-naive\n")
	assert.Contains(t, out, "  Findings:\n    reconciliation: 137 orders for a stock of 100\n", "the worst comes first")

	out = write(t, reports.Text(), []result.Run{trials(naive(), 9, 10)}, reports.Options{Width: 200})
	assert.Contains(t, out, "violations in 9 of 10: 90 %, between 55 % and 100 % at 95 %")
	assert.Contains(t, out, "9/10")
}

func TestTextGreenAndWrongNeedsNumbers(t *testing.T) {
	t.Parallel()
	for _, info := range []map[string]any{nil, {}, {result.InfoCPU: "high"}, {"unknown": 1}} {
		r := with(naive(), func(r *result.Run) { r.ServerInfo = info })
		assert.NotContains(t, write(t, reports.Text(), []result.Run{r}, reports.Options{}), "Green")
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "ttl-expiry  naive  oversold  sold 137 of 100  3.2 s", reports.Line(naive()))
	assert.Equal(t, "ttl-expiry  naive  oversold  sold 137 of 100  3.2 s  SIMULATED", reports.Line(simulated()))
}
