package checks

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// long is a run of about n events: 200 buyers in 6 instances, all of whom wait
// for a lock that works, and every 500th of whom meets one that doesn't.
func long(n int) history.History {
	s := newScript(0)
	const buyers = 200
	units := n / 12
	s.plan.Stock = units
	stock := units
	for i := range units {
		now := 10 * (i + buyers)
		b := i % buyers
		p := s.buy(fmt.Sprintf("%d.%d.%d", b%6+1, b+1, i/buyers+1), b%6+1, b+1)
		p.ask(now-10*buyers+11).granted(now).acquired(now).begun(now+1, int64(i+1), stock).returned(now + 8)
		if i%500 != 250 { // else the next buyer enters and sells first
			before := stock
			stock--
			p.add(now+8, history.Event{Kind: history.CommitStart, Token: int64(i + 1), Units: stock}).
				add(now+8, history.Event{Kind: history.Committed, Token: int64(i + 1), Units: stock, Before: before})
			p.release(now+9, true)
			continue
		}
		p.add(now+19, history.Event{Kind: history.CommitStart, Token: int64(i + 1), Units: stock - 1}).
			add(now+19, history.Event{Kind: history.Committed, Token: int64(i + 1), Units: stock - 1, Before: stock - 1})
		p.release(now+19, false)
	}
	s.deadline = 10 * (units + buyers + 10)
	return s.end()
}

func TestLongHistoryIsJudgedRight(t *testing.T) {
	t.Parallel()
	h := long(60_000)
	lost := Reconstruct(h).LostUpdates()
	require.Positive(t, lost)
	require.Equal(t, result.Mismatch, result.VerdictOf(judge("reconciliation", h)))
	require.Len(t, Reconstruct(h).Traces(), Reconstruct(h).Sold()+Reconstruct(h).Left()-h.Plan.Stock)
	require.Equal(t, lost, Reconstruct(h).DoubleHolds())
}

// BenchmarkJudge judges a history of a million events with every check and
// tells its story.
func BenchmarkJudge(b *testing.B) {
	h := long(1_000_000)
	b.ReportMetric(float64(len(h.Events)), "events")
	b.ResetTimer()
	for b.Loop() {
		t := Reconstruct(h)
		t.Judge(All())
		t.Explain()
	}
}

func BenchmarkReconstruct(b *testing.B) {
	h := long(1_000_000)
	b.ResetTimer()
	for b.Loop() {
		Reconstruct(h)
	}
}
