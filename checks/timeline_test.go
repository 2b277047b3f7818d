package checks

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/history"
)

func TestTimelineLinksGrantsAndExplainsTheirEnds(t *testing.T) {
	t.Parallel()
	tl := Reconstruct(incident())
	require.Len(t, tl.Grants, 5)
	a, b, c := tl.Purchase("A"), tl.Purchase("B"), tl.Purchase("C")
	for _, p := range []*Purchase{a, b, c} {
		require.NotNil(t, p.Grant, p.ID)
		assert.Equal(t, p.ID, p.Grant.Event.Value)
		assert.Same(t, p, p.Grant.Purchase)
	}
	assert.Equal(t, Expired, a.Grant.Loss.Cause)
	assert.Equal(t, ms(310), a.Grant.Loss.At)
	assert.Same(t, b.Grant, a.Grant.Next)
	assert.Equal(t, DeletedByOther, b.Grant.Loss.Cause)
	assert.Equal(t, ms(467), b.Grant.Loss.At)
	assert.Same(t, a, b.Grant.Loss.By)
	assert.Same(t, c.Grant, b.Grant.Next)
	assert.Equal(t, ReleasedByOwn, c.Grant.Loss.Cause)
	assert.True(t, b.Grant.HeldAt(ms(400)))
	assert.False(t, b.Grant.HeldAt(ms(467)))
	assert.Equal(t, ms(10), a.From)
	assert.Equal(t, ms(467), a.Until)
}

// TestGrantsOfOneInstanceGoFirstComeFirstServed has two buyers of one instance
// and a constant value, so that only time can tell them apart.
func TestGrantsOfOneInstanceGoFirstComeFirstServed(t *testing.T) {
	t.Parallel()
	s := newScript(5)
	constant := history.Event{Kind: history.WireAcquired, Command: "SETNX", Value: "1"}
	s.buy("A", 1, 1).ask(5).wire(10, constant).acquired(11).release(20, true)
	s.buy("B", 1, 2).ask(6).wire(21, constant).acquired(22).release(30, true)
	tl := Reconstruct(s.end())
	require.Len(t, tl.Grants, 2)
	assert.Equal(t, "A", tl.Grants[0].Purchase.ID)
	assert.Equal(t, "B", tl.Grants[1].Purchase.ID)
	for _, g := range tl.Grants {
		assert.Equal(t, ReleasedByOwn, g.Loss.Cause)
		assert.Same(t, g.Purchase, g.Loss.By)
	}
}

func TestReplyThatNeverCameBelongsToNobody(t *testing.T) {
	t.Parallel()
	s := newScript(5)
	s.buy("A", 1, 1).ask(5).granted(10) // and then its instance lost the reply
	s.buy("B", 1, 2).ask(320).granted(330).acquired(331).release(340, true)
	tl := Reconstruct(s.end())
	require.Len(t, tl.Grants, 2)
	assert.Nil(t, tl.Grants[0].Purchase)
	assert.Equal(t, Expired, tl.Grants[0].Loss.Cause)
	assert.Equal(t, "B", tl.Grants[1].Purchase.ID)
}

func TestUnknownAcquireTakesTheGrantThatIsLeft(t *testing.T) {
	t.Parallel()
	s := newScript(5)
	s.buy("U", 1, 1).ask(5).granted(10).add(60, history.Event{Kind: history.AcquireUnknown})
	s.buy("B", 1, 2).ask(20).granted(330).acquired(331).release(340, true)
	tl := Reconstruct(s.end())
	assert.Equal(t, "U", tl.Grants[0].Purchase.ID)
	assert.Equal(t, "B", tl.Grants[1].Purchase.ID)
}

func TestQuorumGrantsShareAPurchase(t *testing.T) {
	t.Parallel()
	s := newScript(5)
	s.plan.Shape = "quorum"
	s.buy("A", 1, 1).ask(5).grantedBy("m1", 6).grantedBy("m2", 7).grantedBy("m3", 8).acquired(9)
	s.buy("B", 1, 2).ask(5).grantedBy("m1", 400).grantedBy("m2", 401).acquired(402)
	tl := Reconstruct(s.end())
	require.Len(t, tl.Grants, 5)
	for i, id := range []string{"A", "A", "A", "B", "B"} {
		require.NotNil(t, tl.Grants[i].Purchase, "grant %d", i)
		assert.Equal(t, id, tl.Grants[i].Purchase.ID)
	}
	assert.Same(t, tl.Grants[3], tl.Grants[0].Next)
	assert.Nil(t, tl.Grants[2].Next, "m3 granted it only once")
}

func TestExpiryComesFromTheWire(t *testing.T) {
	t.Parallel()
	setnx := history.Event{Kind: history.WireAcquired, Command: "SETNX", Value: "A"}
	s := newScript(5)
	s.buy("A", 1, 1).ask(5).wire(10, setnx).acquired(11)
	g := Reconstruct(s.end()).Grants[0]
	assert.False(t, g.Expires)
	assert.False(t, g.Ended(), "a key without an expiry stays")

	s.buy("A", 1, 1).wire(12, history.Event{Kind: history.WireExpire, Command: "EXPIRE", Text: "1"})
	g = Reconstruct(s.end()).Grants[0]
	assert.Equal(t, ms(312), g.Expiry)
	assert.Equal(t, KeyLoss{Cause: Expired, At: ms(312)}, g.Loss)

	s.buy("A", 1, 1).wire(100, history.Event{Kind: history.WireRenewed, Value: "A", TTL: 500, Done: true}).
		wire(150, history.Event{Kind: history.WireRenewed, Value: "A"})
	g = Reconstruct(s.end()).Grants[0]
	assert.Equal(t, ms(600), g.Expiry, "a renewal that took no effect doesn't count")
}

// TestLateStampOfARelease: the next grant was stamped before the release that
// made it possible. That is not a foreign release.
func TestLateStampOfARelease(t *testing.T) {
	t.Parallel()
	s := newScript(5)
	a := s.buy("A", 1, 1).enter(10).add(50, history.Event{Kind: history.ReleaseStart})
	s.buy("B", 2, 1).ask(20).granted(51).acquired(52)
	a.wire(53, history.Event{Kind: history.WireReleased, Command: "DEL", Done: true}).add(54, history.Event{Kind: history.Released})
	tl := Reconstruct(s.end())
	first, second := tl.Purchase("A").Grant, tl.Purchase("B").Grant
	assert.Equal(t, ReleasedByOwn, first.Loss.Cause)
	assert.Equal(t, ms(51), first.Loss.At)
	assert.Equal(t, Expired, second.Loss.Cause, "B kept its key")
}

// TestLateStampOfAForeignRelease: the same, and the release was a third one's.
func TestLateStampOfAForeignRelease(t *testing.T) {
	t.Parallel()
	s := newScript(5)
	x := s.buy("X", 3, 1).enter(10) // expires at 310
	s.buy("A", 1, 1).ask(20).granted(320).acquired(321)
	x.add(340, history.Event{Kind: history.ReleaseStart})
	s.buy("B", 2, 1).ask(30).granted(341).acquired(342)
	x.wire(343, history.Event{Kind: history.WireReleased, Command: "DEL", Done: true}).add(344, history.Event{Kind: history.Released})
	tl := Reconstruct(s.end())
	assert.Equal(t, Expired, tl.Purchase("X").Grant.Loss.Cause)
	a := tl.Purchase("A").Grant.Loss
	assert.Equal(t, DeletedByOther, a.Cause)
	assert.Equal(t, "X", a.By.ID)
	assert.Equal(t, ms(341), a.At)
	assert.Equal(t, Expired, tl.Purchase("B").Grant.Loss.Cause)
}

// TestEarlyStampOfARelease: the release was stamped before the grant whose key
// it removed.
func TestEarlyStampOfARelease(t *testing.T) {
	t.Parallel()
	s := newScript(5)
	x := s.buy("X", 3, 1).enter(10) // expires at 310
	x.add(318, history.Event{Kind: history.ReleaseStart}).
		wire(319, history.Event{Kind: history.WireReleased, Command: "DEL", Done: true}).add(322, history.Event{Kind: history.Released})
	s.buy("W", 3, 2).enter(300).release(315, true)
	s.buy("A", 1, 1).ask(20).granted(320).acquired(321)
	s.buy("B", 2, 1).ask(30).granted(323).acquired(324)
	a := Reconstruct(s.end()).Purchase("A").Grant.Loss
	assert.Equal(t, DeletedByOther, a.Cause)
	assert.Equal(t, "X", a.By.ID)
}

// TestLostReplyDoesNotShiftLinks: an acquire whose reply never came, cleaned
// up by its value, in an instance whose other buyers go on.
func TestLostReplyDoesNotShiftLinks(t *testing.T) {
	t.Parallel()
	s := newScript(9)
	compare := func(id string) history.Event {
		return history.Event{Kind: history.WireReleased, Command: "EVALSHA", Value: id, Done: true}
	}
	sale := func(id string, buyer, at int) {
		s.buy(id, 1, buyer).ask(6).granted(at).acquired(at+1).add(at+2, history.Event{Kind: history.ReleaseStart}).
			wire(at+3, compare(id)).add(at+4, history.Event{Kind: history.Released})
	}
	s.buy("U", 1, 1).ask(5).granted(10).wire(15, compare("U")).add(90, history.Event{Kind: history.AcquireUnknown})
	for i, id := range []string{"A", "B", "C"} {
		sale(id, 2+i, 20+10*i)
	}
	tl := Reconstruct(s.end())
	for _, id := range []string{"U", "A", "B", "C"} {
		p := tl.Purchase(id)
		require.NotNil(t, p.Grant, id)
		assert.Equal(t, id, p.Grant.Event.Value)
		assert.Equal(t, ReleasedByOwn, p.Grant.Loss.Cause, id)
	}
}

// TestUnexplainedLossStaysUnexplained: a key that went away for no reason that
// the history shows, such as a flush.
func TestUnexplainedLossStaysUnexplained(t *testing.T) {
	t.Parallel()
	s := newScript(5)
	s.buy("A", 1, 1).enter(10).release(200, true)
	s.buy("B", 2, 1).ask(20).granted(100).acquired(101).release(250, false)
	tl := Reconstruct(s.end())
	assert.Equal(t, Unexplained, tl.Purchase("A").Grant.Loss.Cause)
	assert.Equal(t, DeletedByOther, tl.Purchase("B").Grant.Loss.Cause, "A released when B had long been granted the key")
}

func TestReleaseThatComparesRemovesItsOwnValueOnly(t *testing.T) {
	t.Parallel()
	s := newScript(5)
	compare := func(id string, done bool) history.Event {
		return history.Event{Kind: history.WireReleased, Command: "EVALSHA", Value: id, Done: done}
	}
	s.buy("A", 1, 1).enter(10).add(400, history.Event{Kind: history.ReleaseStart}).wire(401, compare("A", false)).
		add(402, history.Event{Kind: history.ReleaseNotHeld})
	s.buy("B", 2, 1).ask(20).granted(315).acquired(316).add(420, history.Event{Kind: history.ReleaseStart}).
		wire(421, compare("B", true)).add(422, history.Event{Kind: history.Released})
	tl := Reconstruct(s.end())
	assert.Equal(t, Expired, tl.Purchase("A").Grant.Loss.Cause)
	assert.Equal(t, ReleasedByOwn, tl.Purchase("B").Grant.Loss.Cause)
}

func TestKeyLostWithItsMaster(t *testing.T) {
	t.Parallel()
	s := failover()
	tl := Reconstruct(s.end())
	g := tl.Purchase("A").Grant
	assert.Equal(t, LostWithServer, g.Loss.Cause)
	assert.Equal(t, "master", g.Loss.Server)
	assert.Equal(t, ms(100), g.Loss.At)

	s.plan.TTL = ms(200)
	g = Reconstruct(s.end()).Purchase("A").Grant
	assert.Equal(t, Expired, g.Loss.Cause, "by the time of the next grant its TTL was over anyway")
	assert.Equal(t, "master", g.Loss.Server, "though its server had died before")
}

func TestCommitsAreReplayed(t *testing.T) {
	t.Parallel()
	h := incident()
	e := at(h, of(history.Committed, "C"))
	e.Kind, e.Units, e.Before = history.CommitUnknown, 0, 0
	tl := Reconstruct(h)
	require.Len(t, tl.Commits, 5)
	assert.Equal(t, 2, tl.Commits[1].Before, "what A had left there")
	assert.Equal(t, 1, tl.Commits[1].After)
	assert.Equal(t, 2, tl.Commits[2].Back())
	assert.Equal(t, 1, Reconstruct(h).LostUpdates())
}

func TestTruncatedHistoryFallsBackOnTheInstances(t *testing.T) {
	t.Parallel()
	h := without(incident(), func(e history.Event) bool {
		return e.Kind == history.OrderFound || e.Kind == history.StockCounted
	})
	tl := Reconstruct(h)
	assert.Len(t, tl.Commits, 5)
	assert.Equal(t, 0, tl.Left())
	assert.Empty(t, Reconstruct(history.History{}).Events)
}

// TestUnitsTakenOffAgain: a unit that came back and was then taken off the
// shelf unsold is no unit too many.
func TestUnitsTakenOffAgain(t *testing.T) {
	t.Parallel()
	tl := func(backs ...int) *Timeline {
		tl := &Timeline{}
		for _, b := range backs {
			tl.Commits = append(tl.Commits, Commit{Read: b})
		}
		return tl
	}
	assert.Empty(t, tl(0, 0).broughtBack())
	assert.Equal(t, []back{{0, 2}, {2, 1}}, tl(2, 0, 1).broughtBack())
	assert.Equal(t, []back{{0, 1}}, tl(2, -1).broughtBack())
	assert.Empty(t, tl(2, 1, -3).broughtBack())
	assert.Equal(t, []back{{0, 1}}, tl(2, 1, -2).broughtBack())
	assert.Equal(t, []back{{1, 1}}, tl(-2, 3).broughtBack())
	assert.Empty(t, tl(-2, 1).broughtBack())
}
