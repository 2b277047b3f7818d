package checks

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

func TestIncidentIsTracedToItsRoot(t *testing.T) {
	t.Parallel()
	h := incident()
	traces := Reconstruct(h).Traces()
	require.Len(t, traces, 2)
	for i, tr := range traces {
		assert.Equal(t, i+1, tr.Unit)
		assert.Equal(t, 4+i, tr.Order)
		assert.Equal(t, "B", tr.Commit.Purchase.ID)
		require.NotNil(t, tr.Overlap)
		require.NotNil(t, tr.Fault)
		assert.Equal(t, "slow-call", tr.Fault.Fault)
	}
	a, c := traces[0], traces[1] // B's commit knew neither of A's sale nor of C's
	assert.Equal(t, "A", a.Seller.ID)
	assert.Equal(t, ms(313), a.Overlap.From)
	require.Len(t, a.Losses, 1)
	assert.Equal(t, Expired, a.Losses[0].Cause)
	assert.Equal(t, "C", c.Seller.ID)
	assert.Equal(t, ms(469), c.Overlap.From)
	require.Len(t, c.Losses, 2)
	assert.Equal(t, DeletedByOther, c.Losses[0].Cause)
	assert.Equal(t, Expired, c.Losses[1].Cause)
	assert.Equal(t, "A", c.Losses[1].Holder.ID)
	assert.Equal(t, []string{
		"0.310 s  the key of instance 1, buyer 1 expired: its call took 453 ms, 1.5 x TTL (fault slow-call)",
		"0.467 s  the key of instance 2, buyer 7 was removed by the DEL of instance 1, buyer 1",
		"0.469 s  instance 2, buyer 7 and instance 3, buyer 2 were both inside for 13 ms",
		"0.500 s  order 5 is one too many: instance 2, buyer 7 wrote a stock of 2 over 1; it had read 3 at 0.314 s, and instance 3, buyer 2 sold in between",
	}, c.Lines())
	assert.Equal(t, []string{
		"0.310 s  the key of instance 1, buyer 1 expired: its call took 453 ms, 1.5 x TTL (fault slow-call)",
		"0.312 s  instance 2, buyer 7 was granted the key",
		"0.313 s  instance 1, buyer 1 and instance 2, buyer 7 were both inside for 154 ms",
		"0.467 s  the key of instance 2, buyer 7 was removed by the DEL of instance 1, buyer 1",
		"0.468 s  instance 3, buyer 2 was granted the key: three holders of one key",
		"0.500 s  order 4 is one too many: instance 2, buyer 7 wrote a stock of 2 over 1; it had read 3 at 0.314 s, and instance 1, buyer 1 sold in between",
		"and 1 more unit in the same way, after a foreign release had removed the first holder's key",
	}, Reconstruct(h).Explain())
}

func TestExpiryIsTraced(t *testing.T) {
	t.Parallel()
	s := newScript(2)
	s.step(13, history.Event{Fault: "slow-call", Instance: 1, Purchase: "A"})
	s.buy("A", 1, 3).enter(10).begun(12, 1, 2).commit(462, 1, 1, 1).release(463, false)
	s.buy("B", 2, 7).ask(20).granted(312).acquired(313).begun(314, 2, 2).commit(330, 2, 1, 2).release(331, true)
	s.sale("C", 2, 7, 470, 3, 1)
	h := s.end()
	assert.Equal(t, "3 sold of 2: 1 too many", only(t, "reconciliation", h).Text)
	assert.Equal(t, []string{
		"0.310 s  the key of instance 1, buyer 3 expired: its call took 450 ms, 1.5 x TTL (fault slow-call)",
		"0.313 s  instance 1, buyer 3 and instance 2, buyer 7 were both inside for 18 ms",
		"0.462 s  order 3 is one too many: instance 1, buyer 3 wrote a stock of 1 over 1; it had read 2 at 0.012 s, and instance 2, buyer 7 sold in between",
	}, Reconstruct(h).Explain())
	tr := Reconstruct(h).Traces()[0]
	for _, fits := range []func(history.Event) bool{
		of(history.Begun, "A"), of(history.Committed, "A"), of(history.Committed, "B"), of(history.OrderFound, "A"), kind(history.FaultInjected),
	} {
		assert.Contains(t, tr.Events, at(h, fits).N)
	}
}

func TestFailoverIsTraced(t *testing.T) {
	t.Parallel()
	s := failover()
	h := s.end()
	assert.Equal(t, "4 sold of 3: 1 too many", only(t, "reconciliation", h).Text)
	lines := Reconstruct(h).Explain()
	require.Len(t, lines, 3)
	assert.Equal(t, "0.100 s  the key of instance 1, buyer 1 was lost when server master died (fault kill-master)", lines[0])

	for i := range s.events { // the master lives: a split brain
		if s.events[i].Text == "killed" {
			s.events[i].Text = "isolated"
		}
	}
	assert.Equal(t, "0.400 s  the key of instance 1, buyer 1 stayed behind on server master when replica-1 was promoted (fault kill-master)",
		Reconstruct(s.end()).Explain()[0])
	for i := range s.events {
		if s.events[i].Text == "promoted" {
			s.events[i].Text = "grown up"
		}
	}
	assert.Contains(t, Reconstruct(s.end()).Explain()[0],
		"0.420 s  the key of instance 1, buyer 1 stayed behind on server master, and instance 2, buyer 7 was granted it on another one")
}

func TestUnitStillOnTheShelf(t *testing.T) {
	t.Parallel()
	s := newScript(9)
	s.plan.Call = ms(300) // half as long again is nothing special
	s.buy("A", 1, 3).enter(10).begun(12, 1, 9).commit(462, 1, 8, 8).release(463, false)
	s.buy("B", 2, 7).ask(20).granted(312).acquired(313).begun(314, 2, 9).commit(330, 2, 8, 9).release(331, true)
	h := s.end()
	f := only(t, "reconciliation", h)
	assert.Equal(t, result.Mismatch, f.Verdict)
	assert.Equal(t, "2 sold and 8 left of 9: 1 too many", f.Text)
	lines := Reconstruct(h).Explain()
	assert.Contains(t, lines[2], "unit 1 too many is back on the shelf: instance 1, buyer 3 wrote")
	assert.NotContains(t, lines[0], "fault", "no fault was behind it")
}

func TestTraceWithoutAnythingKnown(t *testing.T) {
	t.Parallel()
	h := without(incident(), func(e history.Event) bool {
		return e.Kind == history.WireAcquired || e.Kind == history.WireReleased || e.Kind == history.Acquired || e.Kind == history.Begun
	})
	traces := Reconstruct(h).Traces()
	require.Len(t, traces, 2, "the stock alone tells how many")
	assert.Equal(t, Unexplained, traces[0].Cause())
	assert.Contains(t, Reconstruct(h).Explain()[1], "and 1 more unit in the same way, for a reason that the history doesn't show")
}

func TestStoriesStayShort(t *testing.T) {
	t.Parallel()
	s := newScript(3)
	token := int64(0)
	for i := range 40 { // forty stale commits, by expiry
		from := 1000 * i
		a, b := s.buy(id("A", i), 1, 1), s.buy(id("B", i), 2, 1)
		a.enter(from+10).begun(from+12, token+1, 3).commit(from+462, token+1, 2, 2).release(from+463, false)
		b.ask(from+20).granted(from+312).acquired(from+313).begun(from+314, token+2, 3).commit(from+330, token+2, 2, 3).release(from+331, true)
		s.sale(id("C", i), 3, 1, from+500, token+3, 2)
		s.buy(id("D", i), 3, 1).enter(from+600).begun(from+601, token+4, 1).commit(from+602, token+4, 3, 1).release(from+603, true)
		token += 4
	}
	s.deadline = 41000
	h := s.end()
	lines := Reconstruct(h).Explain()
	assert.LessOrEqual(t, len(lines), maxLines)
	assert.Contains(t, lines[len(lines)-1], "more units in the same way")
	assert.Equal(t, Reconstruct(h).Sold()+Reconstruct(h).Left()-3, len(Reconstruct(h).Traces()))
}

func id(name string, i int) string { return name + strings.Repeat("'", i) }

func TestDoubtsComeFirst(t *testing.T) {
	t.Parallel()
	h := incident()
	h.Events = h.Events[:len(h.Events)-1]
	assert.Equal(t, "nothing can be concluded from this run: the history isn't whole: it has no run.ended", Reconstruct(h).Explain()[0])
	assert.LessOrEqual(t, len(Reconstruct(h).Explain()), maxLines)
}

func TestWords(t *testing.T) {
	t.Parallel()
	for d, want := range map[int]string{0: "0 ms", 1: "1 ms", 412: "412 ms", 1205: "1.205 s", 90000: "90.000 s"} {
		assert.Equal(t, want, span(ms(d)))
	}
	assert.Equal(t, "0.42 ms", span(ms(42)/100))
	assert.Equal(t, "3.214 s", seconds(ms(3214)))
	assert.Equal(t, "1 unit", counted(1, "unit"))
	assert.Equal(t, "0 units", counted(0, "unit"))
	assert.Equal(t, "a, b and 2 more", listed([]string{"a", "b", "c", "d"}, 2))
	assert.Equal(t, "instance 2, buyer 17", buyerName(2, 17))
	assert.Equal(t, "somebody unknown", (*Purchase)(nil).String())
}
