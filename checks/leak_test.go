package checks

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// goneAtRelease is a holder whose release finds its key gone, at 410 ms.
func goneAtRelease() (*script, hand) {
	s := newScript(5)
	a := s.buy("A", 1, 1).enter(10).begun(12, 1, 5).renew(110, true).renew(210, true).renew(310, true).commit(400, 1, 4, 5)
	a.give(410, "0", history.ReleaseNotHeld).add(412, history.Event{Kind: history.BuyerDone})
	s.buy("B", 2, 1).ask(20).granted(405).acquired(406).begun(407, 2, 4).commit(420, 2, 3, 4).give(421, "1", history.Released).add(423, history.Event{Kind: history.BuyerDone})
	return s, a
}

func TestRenewalsThatGoOnAreALeak(t *testing.T) {
	t.Parallel()
	s, a := goneAtRelease()
	assert.Empty(t, judge("leak", s.end()))
	a.renew(510, false)
	assert.Empty(t, judge("leak", s.end()), "one third of a TTL to notice")
	a.renew(610, false).renew(710, false)
	h := s.end()
	f := only(t, "leak", h)
	assert.Equal(t, result.Leaked, f.Verdict)
	assert.Equal(t, "at 0.610 s the key of instance 1, buyer 1, whose purchase was over at 0.412 s, was renewed, in vain; "+
		"2 such renewals in all, the last at 0.710 s", f.Text)
	assert.Len(t, f.Events, 2)
	assert.Equal(t, result.Leaked, result.VerdictOf(judge("", h)))
	assert.Contains(t, Reconstruct(h).Explain(), "0.610 s  the key of instance 1, buyer 1, whose purchase was over at 0.412 s, was renewed, in vain; "+
		"2 such renewals in all, the last at 0.710 s")

	h.Plan.Schema = history.PlanSchemaV1
	assert.Empty(t, judge("leak", h), "an old history doesn't say when commands were sent")
}

// TestLateRenewalIsNoLeak: it was sent in time and held up on its way.
func TestLateRenewalIsNoLeak(t *testing.T) {
	t.Parallel()
	s, a := goneAtRelease()
	a.wire(900, history.Event{Kind: history.WireRenewed, Value: "A", Took: ms(600)})
	assert.Empty(t, judge("leak", s.end()))

	s, a = goneAtRelease()
	a.renew(610, false)
	s.add(600, history.Event{Kind: history.MachineStalled, Took: ms(150)})
	assert.Empty(t, judge("leak", s.end()), "the machine stood still meanwhile")
}

// TestRenewalBelongsToItsValue: others of the instance go on renewing theirs.
func TestRenewalBelongsToItsValue(t *testing.T) {
	t.Parallel()
	s, _ := goneAtRelease()
	c := s.buy("C", 1, 2).ask(30).granted(430).acquired(431).begun(432, 3, 3)
	for at := 530; at < 1000; at += 100 {
		c.renew(at, true)
	}
	c.give(1001, "1", history.Released)
	assert.Empty(t, judge("leak", s.end()))
	c.renew(1300, true)
	assert.Contains(t, only(t, "leak", s.end()).Text, "was renewed, and it took effect")
}

// TestWhoseARenewalIsMustBeCertain: two buyers of an instance released at the
// same time, so that either may be behind the value.
func TestWhoseARenewalIsMustBeCertain(t *testing.T) {
	t.Parallel()
	s := newScript(5)
	a, b := s.buy("A", 1, 1), s.buy("B", 1, 2)
	a.ask(10)
	b.ask(10)
	a.granted(11).acquired(12)
	b.granted(320).acquired(321)
	a.add(400, history.Event{Kind: history.ReleaseStart})
	b.add(400, history.Event{Kind: history.ReleaseStart}).answer(401, "B", "1").add(402, history.Event{Kind: history.Released})
	a.answer(403, "A", "0").renew(700, false)
	assert.Empty(t, judge("leak", s.end()), "A may be behind it, and hasn't finished")
	a.add(404, history.Event{Kind: history.ReleaseNotHeld})
	assert.Len(t, judge("leak", s.end()), 1, "now both have")
}

// TestCancelledAcquireLeaks: its watchdog was started and nobody stops it.
func TestCancelledAcquireLeaks(t *testing.T) {
	t.Parallel()
	s := newScript(5)
	u := s.buy("U", 1, 1).ask(10).granted(12).turnedAway(14)
	assert.Empty(t, judge("leak", s.end()))
	u.renew(112, true)
	assert.Empty(t, judge("leak", s.end()))
	u.renew(212, true)
	assert.Contains(t, only(t, "leak", s.end()).Text, "the key of instance 1, its last purchase was over at 0.014 s, was renewed")
}

// TestRenewalWithoutAValue: a blind EXPIRE can't be told from others' while
// anybody of its instance is under way.
func TestRenewalWithoutAValue(t *testing.T) {
	t.Parallel()
	s, a := goneAtRelease()
	blind := func(at int) {
		a.wire(at, history.Event{Kind: history.WireExpire, Command: "PEXPIRE", Text: "0", Took: ms(1)})
	}
	blind(450)
	assert.Empty(t, judge("leak", s.end()))
	blind(600)
	assert.Len(t, judge("leak", s.end()), 1)
	s.buy("C", 1, 2).ask(590)
	assert.Empty(t, judge("leak", s.end()), "it may be C's")
}

// left is a run that came to its end, and looks at the key around that.
func left(looks ...history.Event) history.History {
	s := newScript(1)
	s.sale("A", 1, 1, 10, 1, 1)
	s.buy("B", 2, 1).enter(30).begun(31, 2, 0).release(32, true).soldOut(32)
	for i, e := range looks {
		e.Kind, e.Server, e.Key = history.KeyState, "redis", lockKey
		s.add(1999+600*i, e)
	}
	return s.end()
}

func TestKeyThatNeverGoesAway(t *testing.T) {
	t.Parallel()
	assert.Empty(t, judge("leak", left(history.Event{TTL: -2})))
	assert.Empty(t, judge("leak", left(history.Event{Value: "x", TTL: 300}, history.Event{TTL: -2})), "it falls by itself")
	assert.Empty(t, judge("leak", left(history.Event{Value: "x", TTL: 900}, history.Event{Value: "x", TTL: 295})), "it is falling")
	f := only(t, "leak", left(history.Event{Value: "x", TTL: -1}))
	assert.Equal(t, result.Leaked, f.Verdict)
	assert.Equal(t, "at 1.999 s the key was there on redis without an expiry, and nobody held it: it never goes away", f.Text)
	f = only(t, "leak", left(history.Event{Value: "x", TTL: 250}, history.Event{Value: "x", TTL: 260}))
	assert.Equal(t, "at 2.599 s the key on redis had 260 ms to live, after 250 ms at 1.999 s, and nobody held it: something renews it", f.Text)
	assert.Empty(t, judge("leak", left(history.Event{Value: "x", TTL: 250}, history.Event{Value: "y", TTL: 260})), "another key")

	h := left(history.Event{Value: "x", TTL: -1})
	at(h, kind(history.LoadEnded)).Phase = stalledPhase
	assert.Empty(t, judge("leak", h), "that is for progress to say")
	h = left(history.Event{Value: "1.1.1", TTL: -1})
	h = without(h, func(e history.Event) bool { return e.Purchase == "B" && e.Kind == history.Released })
	assert.Empty(t, judge("leak", h), "somebody was still under way")
}

func TestStandstillLeaksNothing(t *testing.T) {
	t.Parallel()
	require.Empty(t, judge("leak", standstill()))
	require.Empty(t, judge("leak", incident()))
	require.Empty(t, judge("leak", failover().end()))
}
