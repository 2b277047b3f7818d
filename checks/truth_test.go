package checks

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// honest is two sales by a lock that compares.
func honest() *script {
	s := newScript(5)
	s.buy("A", 1, 1).enter(10).begun(11, 1, 5).commit(18, 1, 4, 5).give(20, "1", history.Released)
	s.buy("B", 2, 1).enter(30).begun(31, 2, 4).commit(38, 2, 3, 4).give(40, "1", history.Released)
	return s
}

func untrue(t *testing.T, s *script) string {
	f := only(t, "truth", s.end())
	assert.Equal(t, result.Truth, f.Property)
	assert.Equal(t, result.Misreported, f.Verdict)
	assert.NotEmpty(t, f.Events)
	return f.Text
}

func honestly(t *testing.T, s *script, msg ...any) {
	assert.Empty(t, judge("truth", s.end()), msg...)
}

func TestHeldWithoutAGrant(t *testing.T) {
	t.Parallel()
	s := honest()
	honestly(t, s)
	s.buy("F", 3, 1).ask(50).acquired(52)
	assert.Equal(t, "at 0.052 s instance 3, buyer 1 was told that it holds the lock, and no server had granted it the key since it had asked at 0.050 s",
		untrue(t, s))
	s.buy("G", 3, 2).ask(50).acquired(53)
	assert.Contains(t, untrue(t, s), "; 2 purchases in all were told so")

	s.plan.Schema = history.PlanSchemaV1
	honestly(t, s, "an old history doesn't tell of lost replies")
}

func TestGrantThatMayHaveBeenIsNoLie(t *testing.T) {
	t.Parallel()
	s := honest()
	s.buy("F", 3, 1).ask(50).unanswered(51, 52).acquired(53)
	honestly(t, s, "the command was sent, and its reply lost")
	s.buy("G", 3, 2).ask(50).acquired(54)
	assert.Contains(t, untrue(t, s), "was told that it holds the lock", "one command can't have been granted twice")
}

func TestGrantBeforeTheQuestionIsNotItsOwn(t *testing.T) {
	t.Parallel()
	s := honest()
	s.buy("F", 1, 2).ask(60).acquired(62)
	assert.Contains(t, untrue(t, s), "instance 1, buyer 2")
	s = honest()
	s.buy("X", 3, 9).ask(50).granted(51).acquired(52)
	s.buy("F", 3, 1).ask(60).acquired(62)
	honestly(t, s, "its instance had the key: it may have been handed on")
}

// TestManyMayHaveAskedAtOnce: grants can be dealt in more than one way.
func TestManyMayHaveAskedAtOnce(t *testing.T) {
	t.Parallel()
	s := honest()
	first, second := s.buy("C", 3, 1).ask(50), s.buy("D", 3, 2).ask(60)
	s.buy("C", 3, 1).granted(55)
	s.buy("D", 3, 2).granted(400)
	second.acquired(401) // the younger one hears first
	first.acquired(402)
	honestly(t, s)
}

func TestLockThatTheWireCannotReadTellsNothing(t *testing.T) {
	t.Parallel()
	blind := func(e history.Event) bool { return e.Kind == history.WireAcquired || e.Kind == history.WireReleased }
	assert.Empty(t, judge("truth", without(honest().end(), blind)))
	assert.Empty(t, judge("truth", incident()), "a blind DEL was answered with 1")
}

func TestHeldByFewerThanAMajority(t *testing.T) {
	t.Parallel()
	quorum := func(servers int) *script {
		s := newScript(5)
		s.plan.Shape, s.plan.Masters = "quorum", 5
		for i, id := range []string{"A", "B"} {
			n := 3
			if id == "B" {
				n = servers
			}
			p := s.buy(id, i+1, 1).ask(10 + 400*i)
			for m := range n {
				p.grantedBy(fmt.Sprintf("m%d", m+1), 11+400*i)
			}
			p.acquired(12 + 400*i)
		}
		return s
	}
	honestly(t, quorum(3))
	assert.Contains(t, untrue(t, quorum(2)), "instance 2, buyer 1 was told that it holds the lock, and only 2 servers had granted it the key")
	s := quorum(2)
	s.buy("B", 2, 1).wire(411, history.Event{Kind: history.WireUnanswered, Server: "m4", Role: roleAcquire, Value: "B", Took: ms(1)})
	honestly(t, s, "a third one may have")
}

func TestRefusedAndGranted(t *testing.T) {
	t.Parallel()
	s := honest()
	r := s.buy("R", 3, 1).ask(50).granted(52).turnedAway(54)
	assert.Equal(t, "at 0.054 s instance 3, buyer 1 was told that it doesn't hold the lock, although redis granted it the key at 0.052 s; "+
		"nobody took it back within a TTL", untrue(t, s))

	r.answer(60, "R", "1")
	honestly(t, s, "it was taken back")
	for name, edit := range map[string]func(s *script){
		"the load ended before a TTL was over":      func(s *script) { s.deadline = 300 },
		"another one asked, and never learned":      func(s *script) { s.buy("U", 3, 2).ask(51).unknown(70) },
		"another one asked, and is still asking":    func(s *script) { s.buy("U", 3, 2).ask(51) },
		"a blind release may have taken it back":    func(s *script) { s.buy("R", 3, 1).answer(60, "", "1") },
		"a release of it got no answer":             func(s *script) { lostRelease(s, "R") },
		"its value was granted to others, too":      func(s *script) { s.buy("R", 2, 7).granted(420) },
		"another one asked, and was granted no key": func(s *script) { s.buy("C", 3, 2).ask(51).acquired(400) },
	} {
		s := honest()
		s.buy("R", 3, 1).ask(50).granted(52).turnedAway(54)
		edit(s)
		for _, f := range judge("truth", s.end()) {
			assert.NotContains(t, f.Text, "was told that it doesn't hold the lock", name)
		}
	}
	s = honest()
	s.buy("R", 3, 1).ask(50).granted(52).turnedAway(54)
	s.buy("C", 3, 2).ask(51).granted(400).acquired(401).give(402, "1", history.Released)
	assert.Contains(t, untrue(t, s), "instance 3, buyer 1", "the other one certainly had another key")
}

func lostRelease(s *script, value string) {
	s.buy(value, 3, 1).wire(60, history.Event{Kind: history.WireUnanswered, Command: "EVALSHA", Role: roleRelease, Value: value, Took: ms(2)})
}

func TestNotHeldAndRemoved(t *testing.T) {
	t.Parallel()
	s := honest()
	s.buy("C", 3, 1).ask(50).granted(52).acquired(53).give(60, "0", history.ReleaseNotHeld)
	honestly(t, s)
	s = honest()
	c := s.buy("C", 3, 1).ask(50).granted(52).acquired(53).add(60, history.Event{Kind: history.ReleaseStart})
	c.answer(62, "C", "1").answer(70, "C", "0").add(71, history.Event{Kind: history.ReleaseNotHeld})
	assert.Equal(t, "at 0.071 s instance 3, buyer 1 was told that the key wasn't its own any more, although its own EVALSHA had removed it at 0.062 s",
		untrue(t, s))
	for i := range s.events {
		if s.events[i].Kind == history.ReleaseNotHeld {
			s.events[i].Kind = history.ReleaseUnknown
		}
	}
	honestly(t, s, "it said that it doesn't know")
}

func TestReleasedAndNot(t *testing.T) {
	t.Parallel()
	s := honest()
	c := s.buy("C", 3, 1).ask(50).granted(52).acquired(53).give(360, "0", history.Released)
	assert.Equal(t, `at 0.362 s instance 3, buyer 1 was told that it gave the lock back, although redis answered its EVALSHA with "0": `+
		"the key was gone or someone else's", untrue(t, s))
	c.wire(361, history.Event{Kind: history.WireUnanswered, Role: roleRelease, Value: "C", Took: ms(1)})
	honestly(t, s, "another try may have removed it")

	s = honest()
	c = s.buy("C", 3, 1).ask(50).granted(52).acquired(53).add(60, history.Event{Kind: history.ReleaseStart})
	c.answer(61, "C", "NOSCRIPT").answer(63, "C", "1").add(64, history.Event{Kind: history.Released})
	honestly(t, s, "the second way worked")

	s = newScript(5)
	s.buy("C", 3, 1).ask(50).granted(52).acquired(53).give(60, "(nil)", history.Released)
	honestly(t, s, "no release of the run was ever seen to work: the wire can't read them")

	s = honest()
	s.buy("C", 3, 1).ask(50).granted(52).acquired(53).add(60, history.Event{Kind: history.ReleaseStart}).
		answer(80, "C", "0").add(70, history.Event{Kind: history.Released})
	honestly(t, s, "the answer came when it had long gone on")
}

func TestReleaseOnAQuorum(t *testing.T) {
	t.Parallel()
	release := func(removed int, said history.Kind) *script {
		s := newScript(5)
		s.plan.Shape, s.plan.Masters = "quorum", 5
		a := s.buy("A", 1, 1).ask(10)
		for m := range 5 {
			a.grantedBy(fmt.Sprintf("m%d", m), 11)
		}
		a.acquired(12).add(20, history.Event{Kind: history.ReleaseStart})
		for m := range 5 {
			e := history.Event{Kind: history.WireReleased, Server: fmt.Sprintf("m%d", m), Command: "EVALSHA", Value: "A", Took: ms(1)}
			e.Done = m < removed
			a.wire(21, e)
		}
		a.add(22, history.Event{Kind: said})
		return s
	}
	honestly(t, release(3, history.Released))
	honestly(t, release(2, history.ReleaseNotHeld))
	assert.Contains(t, untrue(t, release(2, history.Released)), "gave the lock back")
	assert.Contains(t, untrue(t, release(3, history.ReleaseNotHeld)), "wasn't its own any more")
}

// TestUnitsOfThoseWhoNeverHadTheKey: an error that counts as the lock.
func TestUnitsOfThoseWhoNeverHadTheKey(t *testing.T) {
	t.Parallel()
	s := newScript(2)
	s.buy("A", 1, 1).enter(10).begun(11, 1, 2).commit(60, 1, 1, 1).give(62, "1", history.Released)
	s.buy("F", 2, 7).ask(20).acquired(22).begun(23, 2, 2).commit(40, 2, 1, 2).give(41, "0", history.ReleaseNotHeld)
	s.sale("C", 3, 1, 100, 3, 1)
	tr := Reconstruct(s.end()).Traces()
	require.Len(t, tr, 1)
	assert.Equal(t, NeverGranted, tr[0].Cause())
	assert.Equal(t, "F", tr[0].Ungranted.ID)
	assert.Equal(t, []string{
		"0.022 s  instance 1, buyer 1 and instance 2, buyer 7 were both inside for 19 ms",
		"0.022 s  instance 2, buyer 7 was told that it holds the lock, and no server had granted it the key since it had asked at 0.020 s",
		"0.060 s  order 3 is one too many: instance 1, buyer 1 wrote a stock of 1 over 1; it had read 2 at 0.011 s, and instance 2, buyer 7 sold in between",
	}, Reconstruct(s.end()).Explain())
}

func TestUntruthsAreTold(t *testing.T) {
	t.Parallel()
	s := honest()
	s.buy("A", 1, 1).add(23, history.Event{Kind: history.BuyerDone})
	s.buy("B", 2, 1).add(43, history.Event{Kind: history.BuyerDone})
	s.buy("C", 3, 1).ask(50).granted(52).acquired(53).give(360, "0", history.Released).add(363, history.Event{Kind: history.BuyerDone})
	h := s.end()
	assert.Equal(t, result.Misreported, result.VerdictOf(judge("", h)))
	lines := Reconstruct(h).Explain()
	require.Len(t, lines, 2)
	assert.Contains(t, lines[0], "0.362 s  instance 3, buyer 1 was told that it gave the lock back")
}
