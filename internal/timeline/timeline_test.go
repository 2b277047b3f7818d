package timeline_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/internal/timeline"
)

const ms = time.Millisecond

func hold(from, to time.Duration) timeline.Hold {
	return timeline.Hold{Span: timeline.Span{From: from, To: to}}
}

func TestHoldsOfOneRowNeverCoverEachOther(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var l timeline.Lane
		for range rapid.IntRange(0, 40).Draw(t, "holds") {
			from := time.Duration(rapid.IntRange(0, 100).Draw(t, "from"))
			l.Holds = append(l.Holds, hold(from, from+time.Duration(rapid.IntRange(1, 10).Draw(t, "len"))))
		}
		l.Arrange()
		last := l.Rows - 1
		for i, a := range l.Holds {
			require.Less(t, a.Row, l.Rows)
			for _, b := range l.Holds[:i] {
				if a.Row == b.Row && (a.Row < last || l.Rows < 4) {
					require.False(t, a.From < b.To && b.From < a.To, "%v and %v in row %d", a, b, a.Row)
				}
			}
		}
	})
}

func TestALaneWithoutOverlapsHasOneRow(t *testing.T) {
	t.Parallel()
	l := timeline.Lane{Holds: []timeline.Hold{hold(5, 9), hold(0, 5)}}
	l.Arrange()
	assert.Equal(t, 1, l.Rows)
	assert.Equal(t, time.Duration(0), l.Holds[0].From, "in order of time")
}

func TestWholeIsBothTheBeliefAndTheFact(t *testing.T) {
	t.Parallel()
	h := hold(10, 30)
	h.Server = timeline.Span{From: 5, To: 20}
	assert.Equal(t, timeline.Span{From: 5, To: 30}, h.Whole())
	h = timeline.Hold{Server: timeline.Span{From: 5, To: 20}, Unheard: true}
	assert.Equal(t, timeline.Span{From: 5, To: 20}, h.Whole())
}

func TestItOpensAroundTheFirstHarm(t *testing.T) {
	t.Parallel()
	tl := &timeline.Timeline{Span: timeline.Span{To: 10 * time.Second}, Load: timeline.Span{From: time.Second, To: 9 * time.Second}}
	assert.Equal(t, timeline.Span{From: 0, To: 10 * time.Second}, tl.Opening(), "all of the load, and some more")
	tl.Violations = []timeline.Violation{
		{Kind: timeline.Withstood, Span: timeline.Span{From: 2 * time.Second, To: 3 * time.Second}},
		{Kind: timeline.TooMany, Span: timeline.Span{From: 5 * time.Second, To: 6 * time.Second}},
	}
	assert.Equal(t, timeline.Span{From: 4800 * ms, To: 6200 * ms}, tl.Opening())
	tl.Violations = tl.Violations[:1]
	assert.Equal(t, timeline.Span{From: 1800 * ms, To: 3200 * ms}, tl.Opening())
}

// large has one purchase every ten milliseconds, and a violation at a minute.
func large(n int) *timeline.Timeline {
	tl := &timeline.Timeline{Span: timeline.Span{To: time.Duration(n) * 10 * ms}}
	lane := timeline.Lane{Instance: 1}
	key := timeline.KeyLane{}
	for i := range n {
		at := time.Duration(i) * 10 * ms
		h := hold(at, at+5*ms)
		h.Event = int64(i + 1)
		lane.Holds = append(lane.Holds, h)
		key.Grants = append(key.Grants, timeline.Grant{Span: h.Span, Event: h.Event})
		tl.Stock = append(tl.Stock, timeline.Level{At: at, Stock: n - i, Really: n - i})
		tl.Events = append(tl.Events, timeline.Row{N: h.Event, At: at, Kind: history.Acquired})
	}
	lane.Arrange()
	tl.Lanes, tl.Keys = []timeline.Lane{lane}, []timeline.KeyLane{key}
	tl.Violations = []timeline.Violation{{
		Kind: timeline.TooMany, At: time.Minute, Span: timeline.Span{From: time.Minute, To: time.Minute + 100*ms},
		Lines: []timeline.Line{{At: time.Minute, Event: 6001}, {At: 5 * time.Minute, Event: 30001}},
	}}
	return tl
}

func TestThinningKeepsAllThatIsNearAViolation(t *testing.T) {
	t.Parallel()
	tl := large(50_000)
	b := timeline.Budget{Events: 2000, Shapes: 2000, Violations: 10}
	thin := tl.Thin(b)
	require.NotNil(t, thin.Thinned)
	assert.LessOrEqual(t, len(thin.Events), b.Events)
	assert.LessOrEqual(t, thin.Thinned.Shapes, b.Shapes)
	assert.Equal(t, 50_000, thin.Thinned.OfEvents)
	assert.Equal(t, 1, thin.Thinned.WholeViolations)

	near := timeline.Span{From: time.Minute - timeline.Keep, To: time.Minute + timeline.Keep}
	count := func(tl *timeline.Timeline) (events, holds, grants, levels int) {
		for _, e := range tl.Events {
			if near.Meets(timeline.Span{From: e.At, To: e.At}) {
				events++
			}
		}
		for _, h := range tl.Lanes[0].Holds {
			if h.Many == 0 && near.Meets(h.Span) {
				holds++
			}
		}
		for _, g := range tl.Keys[0].Grants {
			if g.Many == 0 && near.Meets(g.Span) {
				grants++
			}
		}
		for _, l := range tl.Stock {
			if near.Meets(timeline.Span{From: l.At, To: l.At}) {
				levels++
			}
		}
		return
	}
	e1, h1, g1, l1 := count(tl)
	e2, h2, g2, l2 := count(thin)
	assert.Equal(t, []int{e1, h1, g1, l1}, []int{e2, h2, g2, l2})
	assert.Equal(t, 401, e1)

	rows := map[int64]bool{}
	for _, e := range thin.Events {
		rows[e.N] = true
	}
	assert.True(t, rows[30001], "what a chain links to stays, however far away")

	stands, whole := 0, 0
	for _, h := range thin.Lanes[0].Holds {
		stands += h.Many
		if h.Many == 0 {
			whole++
		}
	}
	assert.Equal(t, 50_000, stands+whole, "merged ones say how many they stand for")
	assert.Equal(t, tl.Stock[0], thin.Stock[0])
	assert.Equal(t, tl.Stock[len(tl.Stock)-1], thin.Stock[len(thin.Stock)-1])
	assert.Len(t, tl.Events, 50_000, "the original is left as it was")
	assert.Zero(t, tl.Lanes[0].Holds[0].Many)
}

func TestOnlyViolationsThatFitStayWhole(t *testing.T) {
	t.Parallel()
	tl := large(50_000)
	for i := range 40 {
		at := time.Duration(i*10) * time.Second
		tl.Violations = append(tl.Violations, timeline.Violation{At: at, Span: timeline.Span{From: at, To: at}, Lines: []timeline.Line{{At: at, Event: int64(i*1000 + 1)}}})
	}
	b := timeline.Budget{Events: 3000, Shapes: 3000, Violations: 20}
	thin := tl.Thin(b)
	assert.Len(t, thin.Violations, 20)
	assert.Equal(t, 41, thin.Thinned.OfViolations)
	assert.Greater(t, thin.Thinned.WholeViolations, 1)
	assert.Less(t, thin.Thinned.WholeViolations, 10)
	assert.LessOrEqual(t, len(thin.Events), b.Events+20)
	assert.LessOrEqual(t, thin.Thinned.Shapes, b.Shapes*3/2)
}

func TestWhatFitsStaysAsItIs(t *testing.T) {
	t.Parallel()
	tl := large(100)
	assert.Same(t, tl, tl.Thin(timeline.Ordinary()))
}
