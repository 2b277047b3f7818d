package checks

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/history"
)

// taken is a holder whose key a fault takes off the server at 99 ms, and a
// buyer who gets in at that time. The fault's evidence follows when A's call ends.
func taken(fault string, granted int) *script {
	s := newScript(3)
	s.plan.TTL = ms(10_000)
	s.buy("A", 1, 1).enter(10).begun(12, 1, 3).commit(200, 1, 2, 2).give(201, "0", history.ReleaseNotHeld)
	s.buy("B", 2, 7).ask(20).granted(granted).acquired(granted+1).begun(granted+2, 2, 3).commit(130, 2, 2, 3).give(131, "1", history.Released)
	s.buy("C", 3, 1).ask(205).granted(210).acquired(211).begun(212, 3, 2).commit(220, 3, 1, 2).give(221, "1", history.Released)
	s.buy("D", 3, 2).ask(230).granted(240).acquired(241).begun(242, 4, 1).commit(250, 4, 0, 1).give(251, "1", history.Released)
	s.add(100, history.Event{Kind: history.KeyState, Server: "redis", Key: lockKey, TTL: -2})
	s.step(102, history.Event{Fault: fault, Instance: 1, Purchase: "A", Text: "seen on redis"})
	return s
}

func TestKeyTakenOffALivingServer(t *testing.T) {
	t.Parallel()
	for fault, words := range map[string]string{
		"flush":      "redis was flushed",
		"evict":      "redis evicted it",
		"clock-jump": "the clock of redis jumped ahead",
	} {
		for _, granted := range []int{99, 100, 110} { // before the look was stamped, or after
			h := taken(fault, granted).end()
			a := Reconstruct(h).Purchase("A")
			assert.Equal(t, LostData, a.Grant.Loss.Cause)
			assert.Equal(t, fault, a.Grant.Loss.Fault.Fault)
			assert.Equal(t, ReleasedByOwn, Reconstruct(h).Purchase("B").Grant.Loss.Cause)
			line := fmt.Sprintf("%s  the key of instance 1, buyer 1 was lost when %s (fault %s)", seconds(min(ms(100), ms(granted))), words, fault)
			assert.Equal(t, line, Reconstruct(h).Explain()[0])
			assert.Contains(t, Reconstruct(h).Traces()[0].Events, at(h, kind(history.KeyState)).N)
			assert.Contains(t, Reconstruct(h).Traces()[0].Events, at(h, kind(history.FaultInjected)).N)
		}
	}
}

func TestKeyThatWasGoneForNoKnownReason(t *testing.T) {
	t.Parallel()
	h := taken("outlast", 110).end()
	assert.Equal(t, LostData, Reconstruct(h).Purchase("A").Grant.Loss.Cause)
	assert.Equal(t, "0.100 s  the key of instance 1, buyer 1 was gone from redis, and the history doesn't show why", Reconstruct(h).Explain()[0])
}

func TestLookAtAFreeKeyEndsNothing(t *testing.T) {
	t.Parallel()
	s := newScript(5)
	look := history.Event{Kind: history.KeyState, Server: "redis", Key: lockKey, TTL: -2}
	s.buy("A", 1, 1).enter(10).give(20, "1", history.Released)
	s.add(30, look)
	s.buy("B", 1, 1).enter(40) // expires at 340
	s.add(400, look)
	s.buy("C", 1, 1).enter(500)
	look.Err = "connection refused"
	s.add(510, look)
	tl := Reconstruct(s.end())
	assert.Equal(t, ReleasedByOwn, tl.Purchase("A").Grant.Loss.Cause)
	assert.Equal(t, KeyLoss{Cause: Expired, At: ms(340)}, tl.Purchase("B").Grant.Loss)
	assert.Equal(t, ms(800), tl.Purchase("C").Grant.Loss.At, "nobody could look")
}

// TestLookAtTheNewMaster: nobody was granted the key again, and the look at the
// end of the load finds none on the new master.
func TestLookAtTheNewMaster(t *testing.T) {
	t.Parallel()
	s := newScript(5)
	s.plan.Shape, s.plan.TTL = "sentinel", ms(10_000)
	s.buy("A", 1, 1).ask(5).grantedBy("master", 10).acquired(11)
	s.add(400, history.Event{Kind: history.ServerRole, Server: "replica-1", Text: "promoted"})
	s.add(1990, history.Event{Kind: history.KeyState, Server: "replica-1", Key: lockKey, TTL: -2})
	l := Reconstruct(s.end()).Purchase("A").Grant.Loss
	assert.Equal(t, LostWithServer, l.Cause)
	assert.Equal(t, "master", l.Server)
	assert.Equal(t, ms(400), l.At)
	s.add(100, history.Event{Kind: history.ServerRole, Server: "master", Text: "killed"})
	assert.Equal(t, ms(100), Reconstruct(s.end()).Purchase("A").Grant.Loss.At)
}

// TestEvictionGoesOn: whoever gets in while the server is still full loses the
// key as well.
func TestEvictionGoesOn(t *testing.T) {
	t.Parallel()
	s := newScript(5)
	s.plan.TTL = ms(10_000)
	s.buy("A", 1, 1).enter(10)
	s.buy("B", 2, 1).ask(20).granted(90).acquired(91)
	s.buy("C", 3, 1).ask(20).granted(95).acquired(96)
	s.add(100, history.Event{Kind: history.KeyState, Server: "redis", Key: lockKey, TTL: -2})
	s.step(110, history.Event{Fault: "evict", Instance: 1, Purchase: "A"})
	s.buy("C", 3, 1).give(120, "1", history.Released)
	tl := Reconstruct(s.end())
	assert.Equal(t, LostData, tl.Purchase("A").Grant.Loss.Cause)
	assert.Equal(t, LostData, tl.Purchase("B").Grant.Loss.Cause)
	assert.Equal(t, ms(95), tl.Purchase("B").Grant.Loss.At)
	assert.Equal(t, ReleasedByOwn, tl.Purchase("C").Grant.Loss.Cause)
}

// TestFaultOnTheWireAimsAtAnInstance: the flush came while the release of
// instance 1 was on its way, and B had the key before the look was stamped.
func TestFaultOnTheWireAimsAtAnInstance(t *testing.T) {
	t.Parallel()
	s := newScript(5)
	s.plan.TTL = ms(10_000)
	a := s.buy("A", 1, 1).enter(10).add(98, history.Event{Kind: history.ReleaseStart})
	b := s.buy("B", 2, 1).ask(20).granted(99).acquired(100)
	s.add(101, history.Event{Kind: history.KeyState, Server: "redis", Key: lockKey, TTL: -2})
	s.step(102, history.Event{Fault: "flush", Instance: 1})
	a.answer(110, "A", "0").add(111, history.Event{Kind: history.ReleaseNotHeld})
	b.give(120, "1", history.Released)
	tl := Reconstruct(s.end())
	assert.Equal(t, LostData, tl.Purchase("A").Grant.Loss.Cause)
	assert.Equal(t, ms(99), tl.Purchase("A").Grant.Loss.At)
	assert.Equal(t, ReleasedByOwn, tl.Purchase("B").Grant.Loss.Cause)
}

// quorum is five masters, and A who has the key on all of them from 10 ms on.
func quorum() (*script, hand) {
	s := newScript(3)
	s.plan.Shape, s.plan.Masters, s.plan.TTL = "quorum", 5, ms(10_000)
	a := s.buy("A", 1, 1).ask(5)
	for m := range 5 {
		a.grantedBy(master(m), 6+m)
	}
	return s, a.acquired(12).begun(13, 1, 3)
}

func master(m int) string { return fmt.Sprintf("redis-%d", m+1) }

// restart kills one master of the quorum and brings it back empty.
func (s *script) restart(m, at int) {
	s.add(at, history.Event{Kind: history.ServerRole, Server: master(m), Text: "killed"})
	s.add(at+2, history.Event{Kind: history.ServerRole, Server: master(m), Text: "restarted"})
}

func TestQuorumHoldsWithAMajority(t *testing.T) {
	t.Parallel()
	s, a := quorum()
	s.restart(0, 50)
	s.restart(1, 60)
	b := s.buy("B", 2, 1).ask(20) // two servers are no majority: taken back
	for m := range 2 {
		b.grantedBy(master(m), 70+m)
		b.wire(80+m, history.Event{Kind: history.WireReleased, Server: master(m), Command: "EVALSHA", Value: "B", Done: true})
	}
	a.commit(100, 1, 2, 3).add(101, history.Event{Kind: history.ReleaseStart})
	for m := range 5 {
		a.wire(102+m, history.Event{Kind: history.WireReleased, Server: master(m), Command: "EVALSHA", Value: "A", Done: m > 1, Took: ms(1)})
	}
	a.add(110, history.Event{Kind: history.Released}).add(110, history.Event{Kind: history.BuyerDone})
	b.turnedAway(120).add(120, history.Event{Kind: history.BuyerDone})
	h := s.end()
	tl := Reconstruct(h)
	hold := tl.Purchase("A").Hold
	require.NotNil(t, hold)
	require.Len(t, hold.Grants, 5)
	assert.Equal(t, ms(8), hold.At(), "the third of five")
	assert.Equal(t, LostWithServer, hold.Grants[0].Loss.Cause)
	assert.Equal(t, LostWithServer, hold.Grants[1].Loss.Cause)
	require.NotNil(t, hold.Decisive())
	assert.Equal(t, ReleasedByOwn, hold.Decisive().Loss.Cause, "until then it had a majority")
	assert.True(t, hold.HeldAt(ms(100)))
	assert.False(t, hold.HeldAt(ms(7)))
	assert.False(t, hold.HeldAt(ms(110)))
	require.Len(t, tl.Holds, 2)
	assert.False(t, tl.Holds[1].Enough())
	assert.Nil(t, tl.Holds[1].Decisive())
	assert.Nil(t, tl.Purchase("B").Hold)
	assert.Empty(t, judge("exclusion", h))
	assert.Empty(t, judge("truth", h))
	for _, g := range tl.Grants {
		assert.False(t, g.Foreign())
	}
	assert.Equal(t, []string{"1 sold and 2 left of 3: none too many"}, Reconstruct(h).Explain())
}

func TestQuorumLosesItsMajority(t *testing.T) {
	t.Parallel()
	s, a := quorum()
	s.step(70, history.Event{Fault: "restart-server", Instance: 1, Purchase: "A", Text: "redis-1, redis-2, redis-3 were restarted"})
	for m := range 3 {
		s.restart(m, 40+10*m)
	}
	b := s.buy("B", 2, 7).ask(20)
	for m := range 3 {
		b.grantedBy(master(m), 80+m)
	}
	b.acquired(90).begun(91, 2, 3).commit(95, 2, 2, 3)
	a.commit(100, 1, 2, 2)
	s.sale("C", 3, 1, 300, 3, 2)
	s.sale("D", 3, 2, 400, 4, 1)
	h := s.end()
	assert.Equal(t, ms(60), Reconstruct(h).Purchase("A").Hold.Decisive().Loss.At)
	assert.Equal(t, []string{
		"0.060 s  the key of instance 1, buyer 1 was lost when the last of the servers redis-1, redis-2, redis-3 died (fault restart-server)",
		"0.090 s  instance 1, buyer 1 and instance 2, buyer 7 were both inside for 1.913 s",
		"0.100 s  order 4 is one too many: instance 1, buyer 1 wrote a stock of 2 over 2; it had read 3 at 0.013 s, and instance 2, buyer 7 sold in between",
	}, Reconstruct(h).Explain())
}

// TestQuorumGrantsInterleave: two buyers of one instance try at the same time.
func TestQuorumGrantsInterleave(t *testing.T) {
	t.Parallel()
	s := newScript(3)
	s.plan.Shape, s.plan.Masters = "quorum", 5
	a, b := s.buy("A", 1, 1).ask(5), s.buy("B", 1, 2).ask(5)
	for m, p := range []hand{a, b, a, b, a} {
		p.grantedBy(master(m), 6+m)
	}
	a.acquired(11)
	tl := Reconstruct(s.end())
	require.Len(t, tl.Holds, 2)
	assert.Same(t, tl.Holds[0], tl.Purchase("A").Hold)
	assert.Len(t, tl.Holds[0].Grants, 3)
	assert.Nil(t, tl.Holds[1].Purchase)
	assert.Nil(t, tl.Purchase("B").Hold)
}

// TestLateGrantOfASlowServer: the fifth answer comes when the lock was acquired.
func TestLateGrantOfASlowServer(t *testing.T) {
	t.Parallel()
	s := newScript(3)
	s.plan.Shape, s.plan.Masters = "quorum", 5
	a := s.buy("A", 1, 1).ask(5)
	for m := range 4 {
		a.grantedBy(master(m), 6)
	}
	a.acquired(7).grantedBy(master(4), 90)
	s.buy("U", 1, 2).ask(80).unknown(95)
	tl := Reconstruct(s.end())
	assert.Len(t, tl.Purchase("A").Hold.Grants, 5)
	assert.Nil(t, tl.Purchase("U").Hold)
}

func TestQuorumExpiresOnEnoughServers(t *testing.T) {
	t.Parallel()
	s := newScript(3)
	s.plan.Shape, s.plan.Masters = "quorum", 5
	a := s.buy("A", 1, 1).ask(5)
	for m := range 5 {
		a.grantedBy(master(m), 6+m)
	}
	a.acquired(12).begun(13, 1, 3)
	for m := range 2 {
		a.wire(200, history.Event{Kind: history.WireRenewed, Server: master(m), Value: "A", Done: true})
	}
	expiry, ok := Reconstruct(s.end()).Purchase("A").Hold.expiry()
	assert.True(t, ok)
	assert.Equal(t, ms(310), expiry, "the last but two of the three that weren't renewed")
}
