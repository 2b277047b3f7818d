package checks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

func TestStandstillShowsTheKey(t *testing.T) {
	t.Parallel()
	h := standstill()
	f := only(t, "progress", h)
	assert.Equal(t, result.Progress, f.Property)
	assert.Equal(t, result.Stalled, f.Verdict)
	assert.Equal(t, "nobody bought any more from 0.018 s on, with 2 units left, until the load was given up at 1.200 s: "+
		"the key has no expiry (PTTL -1) and its holder, instance 3, is dead: it stays locked for ever", f.Text)
	assert.Contains(t, f.Events, at(h, kind(history.KeyState)).N)
	assert.Contains(t, f.Events, at(h, kind(history.InstanceExited)).N)
	assert.Equal(t, []string{
		"0.030 s  instance 3 was granted the key without an expiry, and its process ended at 0.035 s (fault kill-instance: pid 4711: signal: killed)",
		"1.200 s  the load was given up: nobody had bought anything since 0.018 s, with 2 units left: " +
			"the key has no expiry (PTTL -1) and its holder, instance 3, is dead: it stays locked for ever",
		"1 sold and 2 left of 3: none too many",
	}, Reconstruct(h).Explain())
}

func TestKeyEvidenceInOtherWords(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		mutate func(e *history.Event)
		text   string
	}{
		"free":      {func(e *history.Event) { e.Value, e.TTL = "", -2 }, "the key was free"},
		"living":    {func(e *history.Event) { e.TTL = 250 }, "the key had 250 ms to live and its holder, instance 3, is dead"},
		"strangers": {func(e *history.Event) { e.Value = "x" }, "the key has no expiry (PTTL -1) and its holder isn't known"},
		"alive":     {func(e *history.Event) { e.Value = "1.1.1" }, "and its holder, instance 1, buyer 1, is alive"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := standstill()
			tc.mutate(at(h, kind(history.KeyState)))
			assert.Contains(t, only(t, "progress", h).Text, tc.text)
		})
	}
	h := standstill()
	e := at(h, kind(history.KeyState))
	e.Value, e.TTL, e.Err = "", 0, "connection refused"
	assert.NotContains(t, only(t, "progress", h).Text, "key", "nobody could look")
	h = without(standstill(), kind(history.KeyState))
	assert.NotContains(t, only(t, "progress", h).Text, "key")
}

// quiet is two sales with nothing between them but a buyer who waits.
func quiet(first, second int) *script {
	s := newScript(5)
	s.sale("A", 1, 1, first, 1, 5)
	s.buy("B", 2, 1).ask(first+15).granted(second).acquired(second).begun(second, 2, 4).commit(second+5, 2, 3, 4).release(second+6, true).
		add(second+7, history.Event{Kind: history.BuyerDone})
	s.buy("A", 1, 1).add(first+10, history.Event{Kind: history.BuyerDone})
	return s
}

func TestGapsCountOnlyWhatIsPossible(t *testing.T) {
	t.Parallel()
	t.Run("too long", func(t *testing.T) {
		t.Parallel()
		f := only(t, "progress", quiet(10, 1100).end())
		assert.Contains(t, f.Text, "nobody acquired for 1.075 s from 0.010 s on")
		assert.Len(t, f.Events, 2)
	})
	for name, s := range map[string]*script{
		"just within the bound": quiet(10, 1025),
		"nobody wanted it":      demandLater(),
		"nothing was left":      nothingLeft(),
		"somebody was inside":   somebodyInside(1000),
		"the machine stood": quiet(10, 1100).
			add(900, history.Event{Kind: history.MachineStalled, Took: ms(300)}),
		"a killed server had no successor": quiet(10, 1500).
			add(100, history.Event{Kind: history.ServerRole, Server: "master", Text: "killed"}).
			add(900, history.Event{Kind: history.ServerRole, Server: "replica-1", Text: "promoted"}),
		"a killed server came back": quiet(10, 1500).
			add(100, history.Event{Kind: history.ServerRole, Server: "redis", Text: "killed"}).
			add(900, history.Event{Kind: history.ServerRole, Server: "redis", Text: "restarted"}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Empty(t, judge("progress", s.end()))
		})
	}
	t.Run("a server that stays dead excuses nothing", func(t *testing.T) {
		t.Parallel()
		s := quiet(10, 1500).add(100, history.Event{Kind: history.ServerRole, Server: "redis", Text: "killed"})
		assert.Equal(t, result.Stalled, only(t, "progress", s.end()).Verdict)
	})
}

// demandLater: the second buyer comes late, and nobody had wanted anything until then.
func demandLater() *script {
	s := quiet(10, 1100)
	for i := range s.events {
		if e := &s.events[i]; e.Kind == history.AcquireStart && e.Purchase == "B" {
			e.At = ms(1090)
		}
	}
	return s
}

// nothingLeft: somebody waits, but the first sale took the last unit.
func nothingLeft() *script {
	s := newScript(1)
	s.sale("A", 1, 1, 10, 1, 1)
	s.buy("B", 2, 1).enter(1500).add(1501, history.Event{Kind: history.Begun, Token: 2}).release(1502, true).soldOut(1502)
	return s
}

// somebodyInside: a long call by a live holder, whose key is renewed meanwhile.
func somebodyInside(call int) *script {
	s := newScript(5)
	a := s.buy("A", 1, 1).enter(10).begun(11, 1, 5)
	for at := 110; at < 10+call; at += 100 {
		a.wire(at, history.Event{Kind: history.WireRenewed, Value: "A", Done: true})
	}
	a.commit(11+call, 1, 4, 5).release(12+call, true).add(13+call, history.Event{Kind: history.BuyerDone})
	s.buy("B", 2, 1).ask(15).granted(14+call).acquired(14+call).begun(15+call, 2, 4).commit(16+call, 2, 3, 4).release(17+call, true).
		add(18+call, history.Event{Kind: history.BuyerDone})
	return s
}

// TestStuckHolderIsAStall: alive, renewed for ever, and everybody else waits.
func TestStuckHolderIsAStall(t *testing.T) {
	t.Parallel()
	h := somebodyInside(1500).end()
	f := only(t, "progress", h)
	assert.Equal(t, result.Stalled, f.Verdict)
	assert.Equal(t, "nobody acquired for 1.499 s from 0.010 s on, although stock was left and somebody wanted it (the bound is 1.000 s): "+
		"instance 1, buyer 1 was inside for 1.502 s = 5.0 x TTL, and its watchdog kept the key (14 renewals)", f.Text)
	for _, k := range []history.Kind{history.Acquired, history.CallStart, history.CallEnd, history.ReleaseStart} {
		assert.Contains(t, f.Events, at(h, of(k, "A")).N, k)
	}
	assert.Equal(t, []string{
		"1.514 s  nobody had acquired for 1.499 s, although stock was left and somebody wanted it (the bound is 1.000 s): " +
			"instance 1, buyer 1 was inside for 1.502 s = 5.0 x TTL, and its watchdog kept the key (14 renewals)",
		"2 sold and 3 left of 5: none too many",
	}, Reconstruct(h).Explain())

	planned := somebodyInside(1500)
	planned.step(1511, history.Event{Fault: "slow-call", Instance: 1, Purchase: "A"})
	assert.Equal(t, result.Stalled, only(t, "progress", planned.end()).Verdict, "that the call was slow on purpose is no excuse")

	down := somebodyInside(1500).
		add(100, history.Event{Kind: history.ServerRole, Server: "redis", Text: "killed"}).
		add(800, history.Event{Kind: history.ServerRole, Server: "redis", Text: "restarted"})
	assert.Empty(t, judge("progress", down.end()), "a planned outage is")

	short := somebodyInside(1500)
	short.plan.StallAfter = ms(1500)
	assert.Empty(t, judge("progress", short.end()))

	gaveUp := somebodyInside(1500)
	gaveUp.stalled = true
	gaveUp.deadline = 1300
	h = without(gaveUp.end(), func(e history.Event) bool { return e.At > ms(1300) && e.Instance != 0 })
	assert.Contains(t, only(t, "progress", h).Text, "until the load was given up at 1.300 s: instance 1, buyer 1 was inside")
}

// TestSaleAfterTheEngineGaveUp: it had decided when the last sale came in, and
// noted it a little later.
func TestSaleAfterTheEngineGaveUp(t *testing.T) {
	t.Parallel()
	s := newScript(5)
	s.stalled, s.deadline = true, 1500
	s.sale("A", 1, 1, 10, 1, 5)
	s.buy("B", 2, 1).ask(15).unknown(1500)
	s.sale("C", 3, 1, 1480, 2, 4)
	f := only(t, "progress", s.end())
	assert.Equal(t, "nobody bought any more from 0.018 s on, with 3 units left, until the load was given up at 1.500 s", f.Text)
	assert.Contains(t, f.Events, at(s.end(), of(history.Committed, "A")).N)
}

// TestOthersGotInMeanwhile: a call as long as that, without renewal.
func TestOthersGotInMeanwhile(t *testing.T) {
	t.Parallel()
	s := newScript(9)
	s.buy("A", 1, 1).enter(10).begun(11, 1, 9).commit(1811, 1, 8, 9).release(1812, false).add(1813, history.Event{Kind: history.BuyerDone})
	for i := range 4 {
		at := 320 + 310*i
		s.buy(id("B", i), 2, 1).ask(at-300).granted(at).acquired(at).begun(at, int64(2+i), 9).release(at+300, true)
	}
	s.buy("B", 2, 1).add(1600, history.Event{Kind: history.BuyerDone})
	assert.Empty(t, judge("progress", s.end()))
}

// orphaned is a holder that dies at 100 ms, with a TTL of 300 ms that runs out
// at 310 ms, and the next acquisition.
func orphaned(next int) *script {
	s := newScript(5)
	s.buy("A", 1, 1).enter(10)
	s.buy("B", 2, 1).ask(15).granted(next).acquired(next).begun(next, 1, 5).commit(next+5, 1, 4, 5).release(next+6, true).
		add(next+7, history.Event{Kind: history.BuyerDone})
	s.step(101, history.Event{Fault: "kill-instance", Instance: 1, Text: "pid 1: signal: killed"})
	s.add(100, history.Event{Kind: history.InstanceExited, Instance: 1, Text: "signal: killed"})
	return s
}

func TestShopGoesOnOneTTLAfterADeath(t *testing.T) {
	t.Parallel()
	assert.Empty(t, judge("progress", orphaned(315).end()), "right after the key expired")
	assert.Empty(t, judge("progress", orphaned(550).end()), "one TTL and its grace after the death")
	h := orphaned(600).end()
	f := only(t, "progress", h)
	assert.Equal(t, result.Stalled, f.Verdict)
	assert.Equal(t, "instance 1 died at 0.100 s while it held the key, and nobody acquired for 500 ms after that "+
		"(one TTL of 300 ms and its grace are 450 ms)", f.Text)
	assert.Contains(t, f.Events, at(h, kind(history.InstanceExited)).N)
	assert.Contains(t, Reconstruct(h).Explain(), "0.600 s  nobody had acquired for 500 ms after instance 1 had died with the key "+
		"(one TTL of 300 ms and its grace are 450 ms)")

	stood := func(e history.Event) []result.Finding {
		e.Kind, e.Took = history.MachineStalled, ms(80)
		return judge("progress", orphaned(600).add(500, e).end())
	}
	assert.Empty(t, stood(history.Event{}), "for 80 ms of it the machine stood still")
	assert.NotEmpty(t, stood(history.Event{Instance: 3}), "one instance alone keeps nobody from buying")
	assert.NotEmpty(t, stood(history.Event{Fault: "pause-instance"}), "nor does one that was paused on purpose")
	granted := orphaned(600)
	granted.buy("C", 3, 1).granted(415)
	granted.add(500, history.Event{Kind: history.MachineStalled, Instance: 3, Took: ms(80)})
	assert.Empty(t, judge("progress", granted.end()), "unless it had just been granted the key")

	gone := orphaned(600)
	gone.buy("A", 1, 1).release(90, true)
	assert.Empty(t, judge("progress", gone.end()), "its key was gone before it died")

	slow := orphaned(600)
	slow.plan.RetryEvery = 150 * time.Millisecond
	assert.Empty(t, judge("progress", slow.end()), "buyers try seldom")
}

// TestDeathExplainsItsTTL: the rest of a dead holder's TTL is no gap.
func TestDeathExplainsItsTTL(t *testing.T) {
	t.Parallel()
	s := orphaned(315)
	s.plan.StallAfter = ms(150)
	assert.Empty(t, judge("progress", s.end()))
	s.plan.StallAfter = ms(1)
	assert.Equal(t, result.Stalled, only(t, "progress", s.end()).Verdict)
}

func TestRecoveryIsTold(t *testing.T) {
	t.Parallel()
	lines := Reconstruct(orphaned(315).end()).Explain()
	require.Len(t, lines, 2)
	assert.Equal(t, "0.010 s  instance 1, buyer 1 was granted the key, and its process ended at 0.100 s "+
		"(fault kill-instance: pid 1: signal: killed); the next buyer acquired 215 ms later", lines[0])
}
