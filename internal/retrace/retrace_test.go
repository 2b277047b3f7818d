package retrace_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/internal/historytest"
	"github.com/oversell/oversell/internal/retrace"
	"github.com/oversell/oversell/internal/timeline"
	"github.com/oversell/oversell/result"
)

const ms = time.Millisecond

func draw(h history.History, r result.Run) *timeline.Timeline {
	return retrace.Timeline(h, r, timeline.Ordinary())
}

func TestTheIncident(t *testing.T) {
	t.Parallel()
	tl := draw(historytest.Incident().History(), result.Run{})

	require.Len(t, tl.Lanes, 3)
	first := tl.Lanes[0].Holds
	require.Len(t, first, 1)
	assert.Equal(t, timeline.Span{From: 50 * ms, To: 500*ms + 30*time.Microsecond}, first[0].Span, "as the holder believed")
	assert.True(t, first[0].Early, "Redis no longer had it")
	assert.Equal(t, "expired", first[0].End)
	assert.InDelta(t, float64(350*ms), float64(first[0].Server.To), float64(ms), "one TTL")
	assert.Equal(t, timeline.Stale, first[0].Outcome)
	assert.Equal(t, timeline.Sold, tl.Lanes[1].Holds[0].Outcome)
	assert.False(t, tl.Lanes[1].Holds[0].Early)

	require.Len(t, tl.Overlaps, 1)
	assert.Equal(t, 360*ms, tl.Overlaps[0].From)

	require.Len(t, tl.Faults, 1)
	assert.Equal(t, timeline.Span{From: 50 * ms, To: 500 * ms}, tl.Faults[0].Span, "it began when its act did")

	require.Len(t, tl.Keys, 1)
	require.Len(t, tl.Keys[0].Grants, 3)
	assert.True(t, tl.Keys[0].Grants[0].Gone)
	assert.Equal(t, "released by its holder", tl.Keys[0].Grants[1].End)

	require.Len(t, tl.Stock, 3)
	for i, want := range []timeline.Level{{Stock: 1, Really: 1}, {Stock: 1, Really: 0, Stale: true}, {Stock: 0, Really: -1}} {
		got := tl.Stock[i]
		assert.Equal(t, want, timeline.Level{Stock: got.Stock, Really: got.Really, Stale: got.Stale}, "level %d", i)
		assert.NotZero(t, got.Event)
	}

	require.Len(t, tl.Violations, 1)
	v := tl.Violations[0]
	assert.Equal(t, timeline.TooMany, v.Kind)
	assert.Equal(t, "Order 3 is one too many", v.Title)
	assert.Equal(t, 360*ms, v.At, "when both were inside")
	assert.Equal(t, "instances 1 and 2 both inside for 100 ms", v.Short)
	assert.Equal(t, []int{1, 2}, v.Participants)
	require.Len(t, v.Lines, 3)
	assert.Contains(t, v.Lines[0].Text, "expired: its call took 450 ms, 1.5 x TTL (fault slow-call)")
	assert.Contains(t, v.Lines[2].Text, "order 3 is one too many: instance 1, buyer 1 wrote a stock of 1 over 1; it had read 2")
	assert.NotZero(t, v.Lines[2].Event)
}

func TestEveryEventIsInTheTableWithItsWords(t *testing.T) {
	t.Parallel()
	h := historytest.Incident().History()
	tl := draw(h, result.Run{})
	require.Len(t, tl.Events, len(h.Events))
	texts := map[history.Kind]string{}
	for i, row := range tl.Events {
		if i > 0 {
			assert.GreaterOrEqual(t, row.At, tl.Events[i-1].At)
		}
		texts[row.Kind] = row.Text
	}
	assert.Equal(t, "wrote a stock of 0 over 1, token 3", texts[history.Committed])
	assert.Equal(t, "DEL on redis; value c", texts[history.WireReleased])
	assert.Equal(t, "0 left, 3 orders", texts[history.StockCounted])
}

func TestARunThatNeverStarted(t *testing.T) {
	t.Parallel()
	s := historytest.New(5, 2)
	s.Add(0, history.Event{Kind: history.RunStarted})
	s.Add(3*ms, history.Event{Kind: history.RunFailed, Err: "start the lock's servers: no redis-server"})
	tl := draw(s.History(), result.Run{})
	assert.Equal(t, "start the lock's servers: no redis-server", tl.Failed)
	assert.Empty(t, tl.Lanes)
	assert.Zero(t, tl.Load.Len())
	assert.Equal(t, timeline.Span{To: 3 * ms}, tl.Opening())
}

func TestWhatWasWithstood(t *testing.T) {
	t.Parallel()
	s := historytest.New(2, 2)
	s.Plan.Fenced = true
	s.Load(20*ms, 900*ms)
	s.Buy(historytest.Buy{ID: "1.1.1", Instance: 1, Buyer: 1, At: 50 * ms, Call: 450 * ms, Read: 2, Token: 1, Value: "a", LostKey: true, Refused: true})
	s.Buy(historytest.Buy{ID: "2.1.1", Instance: 2, Buyer: 1, At: 360 * ms, Call: 100 * ms, Read: 2, Over: 2, Token: 2, Value: "b"})
	s.Count(950*ms, 1)
	tl := draw(s.History(), result.Run{})
	assert.Empty(t, tl.Harm())
	require.Len(t, tl.Violations, 1)
	assert.Equal(t, "The fence refused a stale write", tl.Violations[0].Title)
	assert.Len(t, tl.Violations[0].Lines, 2, "both inside, and the refusal")
	assert.Equal(t, timeline.Refused, tl.Lanes[0].Holds[0].Outcome)
}

func TestPausesAndDeaths(t *testing.T) {
	t.Parallel()
	s := historytest.New(5, 2)
	s.Load(20*ms, 900*ms)
	s.Buy(historytest.Buy{ID: "1.1.1", Instance: 1, Buyer: 1, At: 50 * ms, Call: 5 * ms, Read: 5, Over: 5, Token: 1, Value: "a"})
	s.Add(400*ms, history.Event{Kind: history.MachineStalled, Instance: 1, Took: 300 * ms, Fault: "pause-instance"})
	s.Add(500*ms, history.Event{Kind: history.InstanceExited, Instance: 2, Text: "pid 4712: signal: killed"})
	s.Count(950*ms, 4)
	tl := draw(s.History(), result.Run{})
	require.Len(t, tl.Lanes, 2)
	require.Len(t, tl.Lanes[0].Pauses, 1)
	assert.Equal(t, timeline.Span{From: 100 * ms, To: 400 * ms}, tl.Lanes[0].Pauses[0].Span)
	require.NotNil(t, tl.Lanes[1].Died)
	assert.Equal(t, 500*ms, tl.Lanes[1].Died.At)
	assert.Nil(t, tl.Lanes[0].Died)
}

func TestAFaultLastsUntilItIsHealed(t *testing.T) {
	t.Parallel()
	s := historytest.New(5, 1)
	s.Load(20*ms, 900*ms)
	s.Fault(100*ms, 10*ms, "cut-replication", 0, "")
	s.Add(700*ms, history.Event{Kind: history.FaultHealed, Fault: "cut-replication", Step: 1})
	s.Add(800*ms, history.Event{Kind: history.FaultFailed, Fault: "flush", Step: 2, Err: "no evidence"})
	tl := draw(s.History(), result.Run{})
	require.Len(t, tl.Faults, 2)
	assert.Equal(t, timeline.Span{From: 90 * ms, To: 700 * ms}, tl.Faults[0].Span)
	assert.True(t, tl.Faults[1].Failed)
	assert.Equal(t, "no evidence", tl.Faults[1].Text)
}

func TestAnotherFindingIsToldWithTheStory(t *testing.T) {
	t.Parallel()
	s := historytest.New(5, 1)
	s.Load(20*ms, 900*ms)
	h := s.History()
	r := result.Run{
		Verdict:  result.Stalled,
		Findings: []result.Finding{{Property: result.Progress, Verdict: result.Stalled, Text: "nobody bought any more", Events: []int64{3, 4}}},
		Story:    []string{"0.900 s  the load was given up", "0 sold and 5 left of 5: none too many"},
	}
	tl := draw(h, r)
	require.Len(t, tl.Violations, 1)
	v := tl.Violations[0]
	assert.Equal(t, timeline.Broken, v.Kind)
	assert.Equal(t, "Stalled", v.Title)
	assert.Equal(t, timeline.Span{From: 20 * ms, To: 900 * ms}, v.Span)
	require.Len(t, v.Lines, 3)
	assert.Equal(t, timeline.Line{At: 900 * ms, Text: "the load was given up", Event: 4}, v.Lines[1])
	assert.Negative(t, v.Lines[2].At)
}

// Any events at all are drawn somehow: histories are read from files.
func TestNonsenseIsDrawnToo(t *testing.T) {
	t.Parallel()
	for _, kind := range []history.Kind{
		history.Committed, history.Acquired, history.WireAcquired, history.WireReleased, history.MachineStalled, history.FaultInjected,
		history.FaultHealed, history.InstanceExited, history.OrderFound, history.ServerSampled, history.LoadEnded, "no such kind",
	} {
		h := history.History{Events: []history.Event{{N: 1, Kind: kind}, {N: 1, Kind: kind, At: -5, Took: 7, Instance: -3, Purchase: "x"}}}
		assert.NotPanics(t, func() { draw(h, result.Run{Findings: []result.Finding{{Verdict: result.Leaked, Events: []int64{77}}}}) }, kind)
	}
	assert.NotPanics(t, func() { draw(history.History{}, result.Run{}) })
}

func TestARecordedRunHasWhatItsResultSays(t *testing.T) {
	t.Parallel()
	for _, name := range []string{historytest.Naive, historytest.Safe} {
		h, r := historytest.Recorded(t, name)
		tl := draw(h, r)
		units := 0
		for _, v := range tl.Violations {
			if v.Kind == timeline.TooMany {
				units++
			}
		}
		assert.Equal(t, r.Sold+r.Stock.Left-r.Stock.Initial, units, "%s: every unit too many is told", name)
		assert.Len(t, tl.Overlaps, r.DoubleHolds, name)
		assert.Len(t, tl.Stock, r.Sold, name)
		assert.Len(t, tl.Events, len(h.Events), name)
		assert.Greater(t, len(tl.Samples), 1, name)
		assert.Nil(t, tl.Thinned, name)
	}
}
