package checks

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// pair is two purchases, the second of which acquires at a time.
func pair(second int) *script {
	s := newScript(5)
	s.buy("A", 1, 1).enter(10).begun(12, 1, 5).commit(99, 1, 4, 5).release(100, true)
	s.buy("B", 2, 7).enter(second).begun(second+1, 2, 4).commit(second+50, 2, 3, 4).release(second+60, true)
	return s
}

func TestTouchingIntervalsDoNotOverlap(t *testing.T) {
	t.Parallel()
	assert.Empty(t, judge("exclusion", pair(100).end()), "acquired at the instant at which the other began to release")
	assert.Zero(t, Reconstruct(pair(100).end()).DoubleHolds())
	assert.Equal(t, 1, Reconstruct(pair(99).end()).DoubleHolds(), "one millisecond earlier they overlap")
}

func TestExclusionTellsTheFirstPair(t *testing.T) {
	t.Parallel()
	h := pair(60).end()
	f := only(t, "exclusion", h)
	assert.Equal(t, result.Exclusion, f.Property)
	assert.Equal(t, result.OK, f.Verdict)
	assert.Equal(t, "1 acquisition made while another holder was inside, 2 at once at most: first "+
		"instance 1, buyer 1 and instance 2, buyer 7 were both inside for 40 ms from 0.060 s", f.Text)
	assert.Equal(t, []int64{at(h, of(history.Acquired, "A")).N, at(h, of(history.Acquired, "B")).N}, f.Events)
}

func TestHeldIntervalEndsWithLossAndDeath(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(s *script){
		"lost": func(s *script) { s.buy("A", 1, 1).add(50, history.Event{Kind: history.LostNoticed}) },
		"died": func(s *script) { s.add(50, history.Event{Kind: history.InstanceExited, Instance: 1}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := pair(60)
			end(s)
			assert.Empty(t, judge("exclusion", s.end()))
			s = pair(40)
			end(s)
			assert.Equal(t, 1, Reconstruct(s.end()).DoubleHolds())
		})
	}
}

func TestLeaseLostBeforeItCameHoldsNothing(t *testing.T) {
	t.Parallel()
	s := pair(60)
	s.buy("A", 1, 1).add(9, history.Event{Kind: history.LostNoticed})
	assert.Zero(t, Reconstruct(s.end()).DoubleHolds())
}

func TestHolderWithoutAnEndHoldsOn(t *testing.T) {
	t.Parallel()
	h := without(pair(900).end(), func(e history.Event) bool { return e.Purchase == "A" && e.Kind == history.ReleaseStart })
	assert.Equal(t, 1, Reconstruct(h).DoubleHolds())
}

func TestFenceMakesTwoHoldersHarmless(t *testing.T) {
	t.Parallel()
	s := newScript(2)
	s.plan.Fenced = true
	s.buy("A", 1, 1).enter(10).begun(12, 1, 2).refused(465, 1, 1).release(467, false)
	s.buy("B", 2, 7).ask(20).granted(312).acquired(313).begun(314, 2, 2).commit(330, 2, 1, 2).release(331, true)
	s.sale("C", 2, 1, 500, 3, 1)
	h := s.end()
	f := only(t, "exclusion", h)
	assert.Equal(t, result.OK, f.Verdict)
	assert.Contains(t, f.Text, "harmless: nothing was oversold, the fence refused 1 write")
	assert.Equal(t, 1, Reconstruct(h).FenceRefused())
	assert.Equal(t, result.OK, result.VerdictOf(judge("", h)))
	assert.Equal(t, []string{
		"0.310 s  the key of instance 1, buyer 1 expired: its call took 453 ms, 1.5 x TTL",
		"0.313 s  instance 1, buyer 1 and instance 2, buyer 7 were both inside for 18 ms",
		"0.465 s  the fence refused the stale write of instance 1, buyer 1",
		"2 sold and 0 left of 2: none too many",
	}, Reconstruct(h).Explain())
}

func TestThreeAtOnce(t *testing.T) {
	t.Parallel()
	s := newScript(9)
	for i, id := range []string{"A", "B", "C"} {
		s.buy(id, i+1, 1).enter(10*i).begun(10*i+1, int64(i+1), 9).release(100, true)
	}
	h := s.end()
	assert.Equal(t, 2, Reconstruct(h).DoubleHolds())
	assert.Contains(t, only(t, "exclusion", h).Text, "3 at once at most")
}

func TestOverlapOfIsSymmetric(t *testing.T) {
	t.Parallel()
	tl := Reconstruct(pair(60).end())
	a, b := tl.Purchase("A"), tl.Purchase("B")
	one, ok := overlapOf(a, b)
	require.True(t, ok)
	other, ok := overlapOf(b, a)
	require.True(t, ok)
	assert.Equal(t, one, other)
	_, ok = overlapOf(a, a)
	assert.False(t, ok)
	_, ok = overlapOf(nil, a)
	assert.False(t, ok)
}
