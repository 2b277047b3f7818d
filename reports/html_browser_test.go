package reports_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/internal/browsertest"
	"github.com/oversell/oversell/internal/historytest"
	"github.com/oversell/oversell/internal/retrace"
	"github.com/oversell/oversell/internal/timeline"
	"github.com/oversell/oversell/reports"
	"github.com/oversell/oversell/result"
)

// shots is where pictures of the pages are kept, below the repository's root.
var shots = filepath.Join("..", "runs", "screenshots")

var (
	wide   = browsertest.View{Width: 1280, Height: 900}
	narrow = browsertest.View{Width: 390, Height: 844}
)

// told is a run with its history.
type told struct {
	h history.History
	r result.Run
}

func recorded(t *testing.T, name string) told {
	h, r := historytest.Recorded(t, name)
	return told{h, r}
}

// pageOf writes the page about runs and returns its path.
func pageOf(t *testing.T, runs ...told) string {
	t.Helper()
	var results []result.Run
	for _, x := range runs {
		results = append(results, x.r)
	}
	next := 0
	opts := reports.Options{Timeline: func(_ result.Run, b timeline.Budget) (*timeline.Timeline, error) {
		x := runs[next]
		next++
		return retrace.Timeline(x.h, x.r, b), nil
	}}
	var buf bytes.Buffer
	require.NoError(t, reports.HTML().Write(&buf, results, opts))
	path := filepath.Join(t.TempDir(), "report.html")
	require.NoError(t, os.WriteFile(path, buf.Bytes(), 0o644))
	return path
}

func TestPagesInABrowser(t *testing.T) {
	b := browsertest.Start(t)
	naive, safe := recorded(t, historytest.Naive), recorded(t, historytest.Safe)
	pages := map[string]string{
		"naive": pageOf(t, naive), "safe": pageOf(t, safe), "both": pageOf(t, naive, safe), "failed": pageOf(t, failedRun()),
		"hostile": pageOf(t, hostileRun(naive)), "schedule": schedulePage(t),
	}
	for name, path := range pages {
		t.Run(name, func(t *testing.T) {
			views := map[string]browsertest.View{"1280": wide, "390": narrow}
			if name == "naive" {
				views["1280-dark"] = browsertest.View{Width: 1280, Height: 900, Dark: true}
				views["1280-noscript"] = browsertest.View{Width: 1280, Height: 900, NoScripts: true}
			}
			for size, view := range views {
				tab := b.Open(t, path, view)
				assert.Empty(t, tab.Problems(), "console at %s", size)
				assert.Empty(t, tab.Requests(), "requests at %s", size)
				tab.Shoot(t, filepath.Join(shots, name+"-"+size+".png"))
				if !view.NoScripts {
					assert.Empty(t, tab.Overlaps(t), "at %s", size)
				}
			}
		})
	}
	t.Run("verdict and lanes", func(t *testing.T) { showsTheRun(t, b, pages) })
	t.Run("steps", func(t *testing.T) { stepsThroughViolations(t, b, pages["naive"]) })
	t.Run("filter", func(t *testing.T) { filters(t, b, pages["naive"]) })
	t.Run("theme", func(t *testing.T) { switchesTheme(t, b, pages["naive"]) })
	t.Run("links", func(t *testing.T) { linksToEvents(t, b, pages["naive"]) })
}

func showsTheRun(t *testing.T, b *browsertest.Browser, pages map[string]string) {
	visible := func(tab *browsertest.Tab, selector string) int {
		return browsertest.Eval[int](t, tab, `Array.from(document.querySelectorAll('`+selector+`')).filter(e => { const r = e.getBoundingClientRect(); return r.width > 0 || r.height > 0 }).length`)
	}
	for name, want := range map[string]string{"naive": "OVERSOLD", "safe": "OK"} {
		tab := b.Open(t, pages[name], wide)
		assert.Equal(t, want, browsertest.Eval[string](t, tab, `document.querySelector('.badge span').textContent`))
		assert.Contains(t, browsertest.Eval[string](t, tab, `document.querySelector('h1').textContent`), "sold", name)
		assert.Equal(t, 4, visible(tab, `svg.main g[aria-label^="Instance"]`), "%s: a lane for each instance", name)
		assert.Greater(t, visible(tab, "svg.main .held"), 10, "%s: holds", name)
		assert.Greater(t, visible(tab, "svg.main .redis"), 10, "%s: as Redis had them", name)
		assert.Positive(t, visible(tab, "svg.main .band"), "%s: fault band", name)
		assert.Positive(t, visible(tab, "svg.main .faultbar"), "%s: fault", name)
		assert.Equal(t, 1, visible(tab, "svg.main path.stock"), "%s: stock line", name)
		assert.Equal(t, 1, visible(tab, "svg.main rect.zero"), "%s: zero is marked", name)
		assert.Positive(t, visible(tab, ".chart .line"), "%s: figures of the server", name)
	}
	tab := b.Open(t, pages["naive"], wide)
	assert.Positive(t, visible(tab, "svg.main .overlapbar"), "overlaps")
	assert.Equal(t, 1, visible(tab, "svg.main rect.first"), "the first violation across everything")
	inside := browsertest.Eval[bool](t, tab, `(() => { const r = document.querySelector('rect.first').getBoundingClientRect(), m = document.querySelector('svg.main').getBoundingClientRect();
		return r.left > m.left && r.right < m.right && r.height > m.height * 0.8 })()`)
	assert.True(t, inside, "the view opens around the first violation")
	both := b.Open(t, pages["both"], wide)
	assert.Equal(t, 2, visible(both, "svg.main"), "both runs on one axis")
	assert.True(t, browsertest.Eval[bool](t, both, `(() => { const w = Array.from(document.querySelectorAll('svg.time')).map(s => s.getAttribute('x') + s.getAttribute('width')); return w[0] === w[1] })()`))
}

func stepsThroughViolations(t *testing.T, b *browsertest.Browser, path string) {
	tab := b.Open(t, path, wide)
	shown := func() string { return browsertest.Eval[string](t, tab, `document.querySelector('#shown').textContent`) }
	current := func() string {
		return browsertest.Eval[string](t, tab, `(document.querySelector('.chains>li.current') || {id: ''}).id`)
	}
	assert.Empty(t, current())
	tab.Do(t, chromedp.KeyEvent("n"))
	assert.Equal(t, "v1", current())
	first := shown()
	tab.Do(t, chromedp.KeyEvent("n"))
	assert.Equal(t, "v2", current(), "n moves to the next violation")
	assert.NotEqual(t, first, shown(), "and the view with it")
	assert.Contains(t, browsertest.Eval[string](t, tab, `document.querySelector('#now').textContent`), "2 of ")
	tab.Do(t, chromedp.KeyEvent("p"))
	assert.Equal(t, "v1", current())
	assert.Equal(t, first, shown())
	tab.Do(t, chromedp.KeyEvent("0"))
	assert.True(t, strings.HasPrefix(shown(), "0.000 s to "), "the whole run: %s", shown())
	whole := shown()
	tab.Do(t, chromedp.KeyEvent("+"))
	assert.NotEqual(t, whole, shown(), "zoomed in")
	tab.Do(t, chromedp.Focus(chromedp.CSS("#plots")), chromedp.KeyEvent(kb.ArrowRight))
	assert.NotEqual(t, "0.000 s", strings.Fields(shown())[0], "the arrow keys move")
	tab.Do(t, chromedp.Click(chromedp.CSS(`[data-do="next"]`)))
	assert.Equal(t, "v2", current(), "the button does what the key does")
	assert.Empty(t, tab.Problems())
}

func filters(t *testing.T, b *browsertest.Browser, path string) {
	tab := b.Open(t, path, wide)
	rows := func() int {
		return browsertest.Eval[int](t, tab, `document.querySelectorAll('#table tbody tr:not([hidden])').length`)
	}
	all := rows()
	require.Greater(t, all, 500)
	tab.Do(t, chromedp.SendKeys(chromedp.CSS("#filter"), "WROTE committed"))
	// The page filters whenever typing pauses, and that may be in the middle of a
	// word: what counts is where it comes to.
	tab.Await(t, `document.querySelector('#count').textContent.startsWith('44 of ')`)
	assert.Equal(t, 44, rows(), "one for each order")
	assert.True(t, browsertest.Eval[bool](t, tab, `Array.from(document.querySelectorAll('#table tbody tr:not([hidden])')).every(r => r.cells[2].textContent.trim() === 'committed')`))
	tab.Do(t, chromedp.Evaluate[chromedp.Void](`const f = document.querySelector('#filter'), g = document.querySelector('#group'); f.value = ''; g.value = 'fault.'; g.dispatchEvent(new Event('change'))`))
	assert.Equal(t, 4, rows(), "faults")
}

func switchesTheme(t *testing.T, b *browsertest.Browser, path string) {
	background := func(tab *browsertest.Tab) string {
		return browsertest.Eval[string](t, tab, `getComputedStyle(document.body).backgroundColor`)
	}
	light := b.Open(t, path, wide)
	dark := b.Open(t, path, browsertest.View{Width: 1280, Height: 900, Dark: true})
	assert.Equal(t, "rgb(255, 255, 255)", background(light))
	assert.NotEqual(t, background(light), background(dark), "as the system has it")
	was := background(light)
	light.Do(t, chromedp.Click(chromedp.CSS("#theme")), chromedp.Click(chromedp.CSS("#theme")))
	assert.Equal(t, "Theme: dark", browsertest.Eval[string](t, light, `document.querySelector('#theme').textContent`))
	assert.Equal(t, background(dark), background(light), "as the reader has it")
	light.Do(t, chromedp.Click(chromedp.CSS("#theme")))
	assert.Equal(t, was, background(light))
}

func linksToEvents(t *testing.T, b *browsertest.Browser, path string) {
	tab := b.Open(t, path, wide)
	tab.Do(t, chromedp.SendKeys(chromedp.CSS("#filter"), "nothing is called like this"))
	tab.Await(t, `document.querySelectorAll('#table tbody tr:not([hidden])').length === 0`)
	tab.Do(t, chromedp.Evaluate[chromedp.Void](`document.querySelector('.chain a.t').click()`))
	tab.Await(t, `document.querySelector('#table tr:target') && !document.querySelector('#table tr:target').hidden`)
	target := browsertest.Eval[string](t, tab, `document.querySelector('#table tr:target').id`)
	assert.Regexp(t, `^e\d+$`, target)
	assert.Positive(t, browsertest.Eval[int](t, tab, `document.querySelectorAll('#plots a.hit, #plots .hit').length + 1`))
	assert.Empty(t, tab.Problems())
}

// failedRun never got its servers.
func failedRun() told {
	s := historytest.New(100, 6)
	s.Plan.Steps = []history.Step{{Fault: "slow-call", When: "called, every 20th time"}}
	s.Add(time.Millisecond, history.Event{Kind: history.RunStarted})
	s.Add(2*time.Second, history.Event{Kind: history.RunFailed, Err: "start the lock's servers: redis-server is not on the PATH"})
	return told{s.History(), result.Run{Scenario: "ttl-expiry", Lock: "setnx-expire-del", Alias: "naive", Backend: "process", Stock: result.Stock{Initial: 100}, Command: repeat, Dir: "runs/failed"}}
}

// hostileRun has names that try to get out of where they are put.
func hostileRun(x told) told {
	bad := "</script><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m\x00\u202e\"'`${alert(3)}]]>"
	long := strings.Repeat("<b>x", 2500)
	h := history.History{Plan: x.h.Plan, Events: append([]history.Event(nil), x.h.Events...)}
	h.Plan.Scenario, h.Plan.Lock, h.Plan.Key, h.Plan.Inventory = bad, long, bad, long
	h.Plan.Steps = append([]history.Step{{Fault: bad, When: long}}, h.Plan.Steps...)
	for i := range h.Events {
		e := &h.Events[i]
		switch i % 5 {
		case 0:
			e.Text, e.Value = bad, long
		case 1:
			e.Server, e.Command, e.Err = bad, long, bad
		}
		if e.Fault != "" {
			e.Fault = bad + long
		}
	}
	r := x.r
	r.Scenario, r.Lock, r.Alias, r.Server, r.Dir, r.Command = bad, long, bad, bad, long, bad
	r.Story = append([]string{bad, long}, r.Story...)
	r.Findings = append([]result.Finding{{Property: result.Property(bad), Verdict: result.Leaked, Text: long, Events: []int64{1}}}, r.Findings...)
	return told{h, r}
}

func schedulePage(t *testing.T) string {
	t.Helper()
	var buf bytes.Buffer
	require.NoError(t, reports.WriteSchedules(&buf, []reports.Schedule{schedule()}))
	path := filepath.Join(t.TempDir(), "schedule.html")
	require.NoError(t, os.WriteFile(path, buf.Bytes(), 0o644))
	return path
}

func schedule() reports.Schedule {
	const ms = time.Millisecond
	return reports.Schedule{
		Lock: "setnx-expire-del (naive)", Broke: "oversold", Case: "2 buyers, stock 1, TTL 300ms; hazards: slow-call at most 1",
		How: "11 events; no shorter schedule does this under these hazards and bounds", Stock: 1, Buyers: []string{"A", "B"},
		Command: "oversell replay schedules/setnx-expire-del-slow-call-oversold.json --backend docker",
		Steps: []reports.ScheduleStep{
			{Buyer: "A", Command: "SETNX", Text: "SETNX lock a → 1", Key: "A's, no expiry", Stock: 1},
			{Buyer: "A", Command: "EXPIRE", Text: "EXPIRE lock 1 → 1", Key: "A's, 300ms", Stock: 1},
			{Buyer: "A", Command: "begin", Text: "reads stock: 1", Key: "A's, 300ms", Stock: 1},
			{Text: "300ms pass, key expires", Key: "free", Stock: 1, At: 300 * ms},
			{Buyer: "B", Command: "SETNX", Text: "SETNX lock b → 1", Key: "B's, no expiry", Stock: 1, At: 300 * ms},
			{Buyer: "B", Command: "EXPIRE", Text: "EXPIRE lock 1 → 1", Key: "B's, 300ms", Stock: 1, At: 300 * ms},
			{Buyer: "B", Command: "begin", Text: "reads stock: 1", Key: "B's, 300ms", Stock: 1, At: 300 * ms},
			{Buyer: "A", Command: "commit", Text: "writes stock 0, order 1", Key: "B's, 300ms", Orders: 1, At: 300 * ms},
			{Buyer: "A", Command: "DEL", Text: "DEL lock → 1, which was B's", Key: "free", Orders: 1, At: 300 * ms},
			{Buyer: "B", Command: "call", Text: "call returns", Key: "free", Orders: 1, At: 310 * ms},
			{Buyer: "B", Command: "commit", Text: "writes stock 0, order 2", Key: "free", Orders: 2, At: 310 * ms},
		},
		Tale: []string{"A takes the lock.", "A reads a stock of 1.", "300ms passes, and A's lock expires while A is still in its call.", "B takes the lock.", "B reads a stock of 1.",
			"A writes a stock of 0 and its order. Sold: 1 of 1.", "A frees a lock that is B's.", "B writes a stock of 0 and its order. Sold: 2 of 1: 1 too many.", "Oversold: 2 orders for a stock of 1."},
	}
}
