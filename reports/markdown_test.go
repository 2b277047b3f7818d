package reports_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oversell/oversell/reports"
	"github.com/oversell/oversell/result"
)

func TestMarkdownFoldsItsDetails(t *testing.T) {
	t.Parallel()
	out := write(t, reports.Markdown(), []result.Run{naive(), safe(), notProvoked()}, reports.Options{})
	assert.True(t, strings.HasPrefix(out, "## oversell: FAIL\n\nnaive was expected to break and came out ok"), out)
	assert.Equal(t, 2, strings.Count(out, "<details><summary>"), "a lock that just held has no story")
	assert.Equal(t, 2, strings.Count(out, "</details>"))
	assert.NotContains(t, out, "<details open")
	assert.Less(t, strings.Index(out, "summary>ttl-expiry, setnx-expire-del (naive): ok, expected not-ok"), strings.Index(out, "oversold, as expected"), "the worst comes first")
	assert.Contains(t, out, "| ttl-expiry | fenced (safe) | Redis 7.0.15 | ok | ok | pass | 100 | 100 | 0 | 0 | 0 | 4.5 s |")
	assert.Contains(t, out, "| **fail** |")
	assert.Contains(t, out, "\nTo repeat:\n\n<pre>\n"+repeat+"\n</pre>\n")
}

func TestMarkdownIsNeverTooLong(t *testing.T) {
	t.Parallel()
	var runs []result.Run
	for i := range 400 {
		runs = append(runs, with(long(), func(r *result.Run) {
			r.Scenario, r.Command = fmt.Sprintf("scenario-%d", i), fmt.Sprintf("%s --seed %d", repeat, i)
		}))
	}
	last := &runs[len(runs)-1]
	last.Gate, last.Lock = result.Fail, "the-one-that-failed"
	for _, limit := range []int{0, 200_000, 20_000, 3000, 300, 40} {
		out := write(t, reports.Markdown(), runs, reports.Options{Bytes: limit})
		want := 900 << 10
		if limit > 0 {
			want = limit
		}
		assert.LessOrEqual(t, len(out), want, "with a limit of %d", limit)
		assert.True(t, strings.HasPrefix(out, "## oversell: FAIL\n"), "with a limit of %d", limit)
		assert.Equal(t, strings.Count(out, "<details>"), strings.Count(out, "</details>"))
		if limit == 0 {
			assert.Contains(t, out, "| the-one-that-failed")
			assert.Contains(t, out, "<details><summary>scenario-399, the-one-that-failed")
			assert.Contains(t, out, "for want of room")
			assert.Greater(t, len(out), 500_000, "the room is used")
		}
	}
}

func TestMarkdownCannotBeMisusedByNames(t *testing.T) {
	t.Parallel()
	nasty := "</pre></details><script>alert(1)</script> | `x` **b** [l](javascript:1) ![i](http://e) @all #1 <!-- ~~ $x$ \\| www.example.org"
	r := with(notProvoked(), func(r *result.Run) {
		r.Scenario, r.Lock, r.Alias, r.Server, r.Dir, r.Command = nasty, nasty, nasty, nasty, nasty, nasty
		r.Story = []string{nasty}
		r.Findings = []result.Finding{{Property: result.Property(nasty), Text: nasty}}
	})
	out := write(t, reports.Markdown(), []result.Run{r}, reports.Options{})
	assert.NotContains(t, out, "<script")
	assert.NotContains(t, out, "<!--")
	assert.Equal(t, 1, strings.Count(out, "</details>"))
	assert.Equal(t, 2, strings.Count(out, "</pre>"))
	inPre := false
	for line := range strings.Lines(out) {
		switch strings.TrimSpace(line) {
		case "<pre>":
			inPre = true
		case "</pre>":
			inPre = false
		}
		if inPre {
			continue
		}
		assert.NotContains(t, line, "@all")
		assert.NotContains(t, line, "http:")
		assert.NotContains(t, line, "www.")
		assert.NotRegexp(t, "[^\\\\](`|\\[l)", line)
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| ---") {
			assert.Equal(t, 13, strings.Count(strings.ReplaceAll(strings.ReplaceAll(line, `\\`, ``), `\|`, ``), "|"), line)
		}
	}
}
