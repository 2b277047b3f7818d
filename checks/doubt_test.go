package checks

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// TestUnknownAcquiresOfOldHistories: they don't tell which commands were left
// without a reply, so any acquire with an unknown outcome may hold.
func TestUnknownAcquiresOfOldHistories(t *testing.T) {
	t.Parallel()
	unknown := func(asked, answered int) *script {
		s := pair(700)
		s.plan.Schema = history.PlanSchemaV1
		s.buy("U", 3, 1).ask(asked).unknown(answered)
		return s
	}
	assert.Empty(t, judge("exclusion", unknown(150, 160).end()), "from 150 ms to one TTL after 160 ms nobody was inside")
	h := unknown(150, 450).end()
	f := only(t, "exclusion", h)
	assert.Equal(t, result.OK, f.Verdict)
	assert.Contains(t, f.Text, "possible, not definite: 1 acquire with an unknown outcome")
	assert.Contains(t, f.Text, "instance 3, buyer 1, from 0.150 s")
	assert.Len(t, f.Events, 2)
	assert.Zero(t, Reconstruct(h).DoubleHolds(), "never definite")

	s := unknown(150, 450)
	s.buy("U", 3, 1).granted(155)
	assert.Empty(t, judge("exclusion", s.end()), "the wire shows that the key was granted early and expired in time")
}

// flushed is B, who was granted the key at 700 ms, heard of it at 730 ms and is
// inside until 760 ms, while the key is gone from 705 ms on; and U, who never
// learned what became of its question.
func flushed(asked int) (*script, hand) {
	s := newScript(5)
	s.buy("B", 2, 7).ask(650).granted(700).acquired(730).begun(731, 1, 5).commit(759, 1, 4, 5).give(760, "0", history.ReleaseNotHeld)
	s.add(705, history.Event{Kind: history.KeyState, Server: "redis", Key: lockKey, TTL: -2})
	return s, s.buy("U", 3, 1).ask(asked).unknown(740)
}

func TestOnlyUnansweredAcquiresMayHold(t *testing.T) {
	t.Parallel()
	s, u := flushed(150)
	assert.Empty(t, judge("exclusion", s.end()), "no command of it was left without a reply")
	u.unanswered(710, 715)
	f := only(t, "exclusion", s.end())
	assert.Equal(t, "possible, not definite: 1 acquire with an unknown outcome may have held the key while somebody was inside: "+
		"first instance 3, buyer 1, from 0.710 s (the reply of redis to its SET was lost)", f.Text)
	assert.Len(t, f.Events, 3)

	for name, edit := range map[string]func(s *script, u hand){
		"taken back":           func(_ *script, u hand) { u.answer(720, "U", "1") },
		"found to be nobody's": func(_ *script, u hand) { u.answer(720, "U", "0") },
		"gone with its server": func(s *script, _ hand) {
			s.add(720, history.Event{Kind: history.ServerRole, Server: "redis", Text: "killed"})
		},
		"a release":                              func(s *script, _ hand) { s.events[len(s.events)-1].Role = roleRelease },
		"another instance's":                     func(s *script, _ hand) { s.events[len(s.events)-1].Instance = 9 },
		"somebody else found the key free later": func(s *script, _ hand) { s.buy("X", 1, 9).ask(650).granted(745) },
	} {
		s, u := flushed(150)
		u.unanswered(710, 715)
		edit(s, u)
		assert.Empty(t, judge("exclusion", s.end()), name)
	}
	s, u = flushed(712)
	u.unanswered(710, 715)
	assert.Empty(t, judge("exclusion", s.end()), "sent before it asked")
	s, u = flushed(150)
	u.unanswered(701, 704)
	assert.Empty(t, judge("exclusion", s.end()), "B had the key all the while")
	s, u = flushed(150)
	u.unanswered(701, 715)
	assert.Contains(t, only(t, "exclusion", s.end()).Text, "from 0.705 s")
}

func TestLaterGrantAfterABlindReleaseLeavesTheDoubt(t *testing.T) {
	t.Parallel()
	s, u := flushed(150)
	u.unanswered(710, 715)
	s.buy("X", 1, 9).ask(650).wire(742, history.Event{Kind: history.WireReleased, Command: "DEL", Done: true}).granted(745)
	assert.Len(t, judge("exclusion", s.end()), 1)
}

// TestServerThatDiedRefusedUntilThen: the usual case after a killed master. Its
// holder had the key there to the end.
func TestServerThatDiedRefusedUntilThen(t *testing.T) {
	t.Parallel()
	s := failover()
	for i := range 50 {
		s.buy(fmt.Sprintf("U%d", i), 3, 10+i).ask(50).wire(99, history.Event{Kind: history.WireUnanswered, Server: "master",
			Command: "SET", Role: roleAcquire, Value: fmt.Sprintf("U%d", i), Took: ms(9)}).unknown(101)
	}
	for _, f := range judge("exclusion", s.end()) {
		assert.NotContains(t, f.Text, "possible")
	}
}

func TestOneUnansweredCommandMakesOneDoubt(t *testing.T) {
	t.Parallel()
	s, _ := flushed(150)
	for i := range 5 {
		s.buy(fmt.Sprintf("U%d", i), 3, i+2).ask(150).unknown(750 + i)
	}
	s.buy("U3", 3, 5).unanswered(710, 715)
	assert.Contains(t, only(t, "exclusion", s.end()).Text, "1 acquire with an unknown outcome")
}

func TestQuorumDoubtTakesAMajority(t *testing.T) {
	t.Parallel()
	doubt := func(granted, lost int) []result.Finding {
		s := pair(700)
		s.plan.Shape, s.plan.Masters = "quorum", 5
		u := s.buy("U", 3, 1).ask(150)
		for i := range granted {
			u.grantedBy(fmt.Sprintf("m%d", i), 600)
		}
		for i := range lost {
			u.wire(650, history.Event{Kind: history.WireUnanswered, Server: fmt.Sprintf("n%d", i), Command: "SET",
				Role: roleAcquire, Value: "U", Took: ms(50)})
		}
		u.unknown(690)
		return judge("exclusion", s.end())
	}
	assert.Empty(t, doubt(0, 2))
	assert.Empty(t, doubt(1, 1))
	assert.Len(t, doubt(0, 3), 1)
	assert.Len(t, doubt(2, 1), 1)
	assert.Len(t, doubt(3, 0), 1, "the wire saw enough grants")
}
