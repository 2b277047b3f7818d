package checks

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/oversell/oversell/history"
)

// model is a lock with a TTL, an inventory, and buyers who take their steps in
// any order. It writes the history of what it does, and knows the truth.
type model struct {
	t      *rapid.T
	s      *script
	now    int
	blind  bool // releases don't compare
	fenced bool

	holder *modelBuyer // whose key is on the server
	value  string
	expiry int
	stock  int
	token  int64

	buyers []*modelBuyer
	losses map[string]Cause // by value: how each key went away
}

// modelBuyer is one buyer, between two steps.
type modelBuyer struct {
	instance, number, attempt int
	state                     int // 0 outside, 1 asking, 2 granted, 3 inside, 4 in its call, 5 released on the server
	token                     int64
	read                      int
	hand                      hand
	said                      history.Kind // what the lock says of the release
}

// draw plays a random run of up to 120 steps.
func draw(t *rapid.T, oneBuyerEach bool) (*model, history.History) {
	m := &model{
		t: t, s: newScript(rapid.IntRange(1, 8).Draw(t, "stock")),
		blind:  rapid.Bool().Draw(t, "blind"),
		fenced: rapid.Bool().Draw(t, "fenced"),
		losses: make(map[string]Cause),
	}
	m.stock, m.s.plan.Fenced = m.s.plan.Stock, m.fenced
	ttl := rapid.IntRange(10, 60).Draw(t, "ttl")
	m.s.plan.TTL = ms(ttl)
	for i := range rapid.IntRange(1, 5).Draw(t, "instances") {
		buyers := 1
		if !oneBuyerEach {
			buyers = rapid.IntRange(1, 3).Draw(t, "buyers")
		}
		for b := range buyers {
			m.buyers = append(m.buyers, &modelBuyer{instance: i + 1, number: b + 1})
		}
	}
	for range rapid.IntRange(1, 120).Draw(t, "steps") {
		m.now += rapid.IntRange(1, 9).Draw(t, "pause")
		m.expire()
		m.step(m.buyers[rapid.IntRange(0, len(m.buyers)-1).Draw(t, "who")], ttl)
	}
	m.now++
	m.s.deadline = m.now
	h := m.s.end()
	m.now = int(h.Events[len(h.Events)-1].At / time.Millisecond)
	m.expire()
	return m, h
}

func (m *model) expire() {
	if m.value != "" && m.now >= m.expiry {
		m.losses[m.value] = Expired
		m.value, m.holder = "", nil
	}
}

func (m *model) step(b *modelBuyer, ttl int) {
	switch b.state {
	case 0:
		b.attempt++
		b.hand = m.s.buy(fmt.Sprintf("%d.%d.%d", b.instance, b.number, b.attempt), b.instance, b.number).ask(m.now)
		b.state = 1
	case 1:
		if m.value != "" {
			return
		}
		m.value, m.holder, m.expiry = b.hand.id.Purchase, b, m.now+ttl
		b.hand.granted(m.now)
		b.state = 2
	case 2:
		b.hand.acquired(m.now)
		b.state = 3
	case 3:
		m.token++
		b.token, b.read = m.token, m.stock
		b.hand.begun(m.now, b.token, b.read)
		b.state = 4
	case 4:
		m.commit(b)
		m.release(b)
		b.state = 5
	case 5:
		b.hand.add(m.now, history.Event{Kind: b.said})
		b.state = 0
	}
}

func (m *model) commit(b *modelBuyer) {
	switch {
	case b.read <= 0:
	case m.fenced && b.token != m.token:
		b.hand.refused(m.now, b.token, b.read-1)
	default:
		b.hand.commit(m.now, b.token, b.read-1, m.stock)
		m.stock = b.read - 1
	}
}

func (m *model) release(b *modelBuyer) {
	mine := m.holder == b && m.value == b.hand.id.Purchase
	e := history.Event{Kind: history.WireReleased, Command: "DEL", Done: m.value != "" && (mine || m.blind)}
	if !m.blind {
		e.Command, e.Value = "EVALSHA", b.hand.id.Purchase
	}
	b.hand.add(m.now, history.Event{Kind: history.ReleaseStart}).wire(m.now, e)
	b.said = history.Released
	if !e.Done {
		b.said = history.ReleaseNotHeld
		return
	}
	m.losses[m.value] = DeletedByOther
	if mine {
		m.losses[m.value] = ReleasedByOwn
	}
	m.value, m.holder = "", nil
}

// soup draws events without any sense.
func soup(t *rapid.T) history.History {
	kinds := []history.Kind{
		history.AcquireStart, history.Acquired, history.AcquireRefused, history.AcquireUnknown, history.Begun, history.CallStart,
		history.CallEnd, history.LostNoticed, history.Abandoned, history.CommitStart, history.Committed, history.CommitRefused,
		history.CommitUnknown, history.ReleaseStart, history.Released, history.ReleaseNotHeld, history.ReleaseUnknown,
		history.SoldOut, history.BuyerDone, history.InstanceStarted, history.InstanceExited, history.WireAcquired,
		history.WireExpire, history.WireRenewed, history.WireReleased, history.WireUnanswered, history.WirePolls, history.RunStarted, history.LoadStarted,
		history.LoadEnded, history.RunEnded, history.FaultInjected, history.FaultFailed, history.FaultHealed, history.ServerHealth,
		history.ServerRole, history.KeyState, history.StockCounted, history.OrderFound, history.MachineStalled, history.ServerInfo, "what?",
	}
	word := rapid.SampledFrom([]string{"", "a", "b", "c", "1"})
	number := rapid.IntRange(-2, 4)
	event := rapid.Custom(func(t *rapid.T) history.Event {
		return history.Event{
			N: rapid.Int64Range(-1, 50).Draw(t, "n"), At: time.Duration(rapid.IntRange(-5, 60).Draw(t, "at")),
			Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Instance: number.Draw(t, "instance"), Buyer: number.Draw(t, "buyer"),
			Purchase: word.Draw(t, "purchase"), Server: word.Draw(t, "server"), Key: word.Draw(t, "key"), Value: word.Draw(t, "value"),
			Command: rapid.SampledFrom([]string{"", "SET", "SETNX"}).Draw(t, "command"), TTL: int64(number.Draw(t, "ttl")),
			Done: rapid.Bool().Draw(t, "done"), Token: int64(number.Draw(t, "token")), Units: number.Draw(t, "units"),
			Before: number.Draw(t, "before"), Count: number.Draw(t, "count"), Step: number.Draw(t, "step"),
			Phase: rapid.SampledFrom([]string{"", "before", "after", stalledPhase}).Draw(t, "phase"),
			Took:  time.Duration(number.Draw(t, "took")),
			Role:  rapid.SampledFrom([]string{"", roleAcquire, roleRelease}).Draw(t, "role"),
			Fault: rapid.SampledFrom([]string{"", "flush", "evict", "f"}).Draw(t, "fault"),
			Text:  rapid.SampledFrom([]string{"", "1", "killed", "promoted", "x"}).Draw(t, "text"), Err: word.Draw(t, "err"),
		}
	})
	return history.History{
		Plan: history.Plan{
			Schema:  rapid.SampledFrom([]string{"", history.PlanSchemaV1, history.PlanSchema}).Draw(t, "schema"),
			Masters: rapid.IntRange(0, 5).Draw(t, "masters"),
			Stock:   number.Draw(t, "stock"), Fenced: rapid.Bool().Draw(t, "fenced"), Renews: rapid.Bool().Draw(t, "renews"),
			TTL: time.Duration(rapid.IntRange(-1, 30).Draw(t, "ttl")), StallAfter: time.Duration(number.Draw(t, "stall after")),
			Shape: rapid.SampledFrom([]string{"single", "sentinel", "quorum"}).Draw(t, "shape"), MinSold: number.Draw(t, "min sold"),
			Steps: []history.Step{{Fault: "f", Optional: rapid.Bool().Draw(t, "optional")}},
		},
		Events: rapid.SliceOfN(event, 0, 80).Draw(t, "events"),
	}
}
