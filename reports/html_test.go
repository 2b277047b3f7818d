package reports_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/internal/historytest"
	"github.com/oversell/oversell/internal/retrace"
	"github.com/oversell/oversell/internal/timeline"
	"github.com/oversell/oversell/reports"
	"github.com/oversell/oversell/result"
)

func page(t *testing.T, x told) string {
	t.Helper()
	return write(t, reports.HTML(), []result.Run{x.r}, reports.Options{Timeline: drawing(x)})
}

// has and lacks don't print the page when they fail: it is long.
func has(t *testing.T, text, words string) {
	t.Helper()
	assert.True(t, strings.Contains(text, words), "the page doesn't have %q", words)
}

func lacks(t *testing.T, text string, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		assert.Empty(t, regexp.MustCompile(p).FindString(text), "the page has %q", p)
	}
}

// The policy lets nothing through but the page's own style and script.
func TestThePolicyHasTheHashesOfThePage(t *testing.T) {
	t.Parallel()
	text := page(t, recorded(t, historytest.Naive))
	policy := html.UnescapeString(regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(text)[1])
	assert.Contains(t, policy, "default-src 'none'")
	assert.NotContains(t, policy, "unsafe")
	for _, tag := range []string{"style", "script"} {
		found := regexp.MustCompile(`(?s)<`+tag+`>(.*?)</`+tag+`>`).FindAllStringSubmatch(text, -1)
		require.Len(t, found, 1, "one %s", tag)
		sum := sha256.Sum256([]byte(found[0][1]))
		assert.Contains(t, policy, tag+"-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	lacks(t, text, ` style="`, ` on[a-z]+="`, `(src|href)="(https?:)?//`)
}

func TestAnOrdinaryPageIsSmall(t *testing.T) {
	t.Parallel()
	for _, name := range []string{historytest.Naive, historytest.Safe} {
		assert.Less(t, len(page(t, recorded(t, name))), 1_000_000, name)
	}
}

func TestEveryLinkOnThePageLeadsSomewhere(t *testing.T) {
	t.Parallel()
	naive, safe := recorded(t, historytest.Naive), recorded(t, historytest.Safe)
	runs := []told{naive, safe}
	next := 0
	text := write(t, reports.HTML(), []result.Run{naive.r, safe.r}, reports.Options{Timeline: func(_ result.Run, b timeline.Budget) (*timeline.Timeline, error) {
		x := runs[next]
		next++
		return retrace.Timeline(x.h, x.r, b), nil
	}})
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		assert.False(t, ids[m[1]], "two elements are called %s", m[1])
		ids[m[1]] = true
	}
	links := regexp.MustCompile(` (?:href|aria-labelledby|for)="#?([^"]*)"`).FindAllStringSubmatch(text, -1)
	assert.Greater(t, len(links), 100)
	for _, m := range links {
		assert.True(t, ids[m[1]], "nothing is called %s", m[1])
	}
}

func TestTheRawResultIsJSON(t *testing.T) {
	t.Parallel()
	for _, x := range []told{recorded(t, historytest.Naive), {r: hostile()[0]}} {
		text := write(t, reports.HTML(), []result.Run{x.r}, reports.Options{})
		raw := regexp.MustCompile(`(?s)<pre id="result"[^>]*>(.*?)</pre>`).FindStringSubmatch(text)
		require.NotNil(t, raw)
		var doc result.Document
		require.NoError(t, json.Unmarshal([]byte(html.UnescapeString(raw[1])), &doc))
		assert.Equal(t, x.r.Sold, doc.Runs[0].Sold)
	}
}

func TestHostileNamesStayText(t *testing.T) {
	t.Parallel()
	text := page(t, hostileRun(recorded(t, historytest.Naive)))
	assert.Equal(t, 1, strings.Count(text, "<script"), "the page's own")
	lacks(t, text, "<img", "<b>x", "[\x00-\x08\x0b-\x1f\x7f\u202e]")
	assert.Less(t, len(text), 2_000_000)
}

func TestAFailedRunSaysWhy(t *testing.T) {
	t.Parallel()
	text := page(t, failedRun())
	has(t, text, "NO VERDICT")
	has(t, text, "The run failed to start: start the lock&#39;s servers: redis-server is not on the PATH")
	has(t, text, "never happened")
}

func TestAHistoryThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("no such file")
	opts := reports.Options{Timeline: func(result.Run, timeline.Budget) (*timeline.Timeline, error) { return nil, broken }}
	assert.ErrorIs(t, reports.HTML().Write(&bytes.Buffer{}, []result.Run{naive()}, opts), broken)
	assert.Contains(t, write(t, reports.Text(), []result.Run{naive()}, opts), "No timeline: no such file")
}

func TestThePageOfALargeRunIsThinnedAndSaysSo(t *testing.T) {
	t.Parallel()
	x := told{h: historytest.Large(40_000, 3).History()}
	x.r = result.Run{Verdict: result.Oversold, Stock: result.Stock{Initial: x.h.Plan.Stock}, Dir: "runs/large"}
	text := page(t, x)
	assert.Less(t, len(text), 4_000_000)
	assert.True(t, regexp.MustCompile(`this run is large, and thinned here\. The page has \d+ of 4\d{4} events`).MatchString(text))
	has(t, text, "Nothing is left out around the first ")
	has(t, text, "drawn as one")
}

func TestSchedulesOfHostileNames(t *testing.T) {
	t.Parallel()
	s := schedule()
	bad := "</td><script>alert(1)</script>\x1b\u202e" + strings.Repeat("x", 10_000)
	s.Lock, s.Case, s.Command, s.Tale[0], s.Steps[0].Text, s.Steps[1].Key = bad, bad, bad, bad, bad, bad
	s.Buyers = []string{"A"}
	var buf bytes.Buffer
	require.NoError(t, reports.WriteSchedules(&buf, []reports.Schedule{s, {}}))
	assert.Equal(t, 1, strings.Count(buf.String(), "<script"))
	lacks(t, buf.String(), "[\x00-\x08\x0b-\x1f\u202e]")
}
