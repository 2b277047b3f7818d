package checks

import (
	"cmp"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// script writes a history by hand. Times are in milliseconds.
type script struct {
	plan     history.Plan
	events   []history.Event
	deadline int // when the load ends
	stalled  bool
}

const lockKey = "oversell:lock"

// newScript starts a history with one server and one planned slow call.
func newScript(stock int) *script {
	return &script{
		plan: history.Plan{
			Schema: history.PlanSchema, Scenario: "ttl-expiry", Hazard: string(result.SlowCall), Lock: "setnx-expire-del",
			Shape: "single", Stock: stock, Instances: 3, Buyers: 6, Requests: 2 * stock,
			TTL: 300 * time.Millisecond, RetryEvery: 10 * time.Millisecond, StallAfter: time.Second, MinSold: 1,
			Key: lockKey, SKU: "sku",
		},
		deadline: 2000,
	}
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func (s *script) add(at int, e history.Event) *script {
	e.At = ms(at)
	s.events = append(s.events, e)
	return s
}

// step plans a fault and records its injection.
func (s *script) step(at int, e history.Event) *script {
	s.plan.Steps = append(s.plan.Steps, history.Step{Fault: e.Fault, When: "planned"})
	e.Kind, e.Step = history.FaultInjected, len(s.plan.Steps)
	if e.Text == "" {
		e.Text = "seen to happen"
	}
	return s.add(at, e)
}

// hand is one purchase that is being written.
type hand struct {
	s  *script
	id history.Event
}

func (s *script) buy(id string, instance, buyer int) hand {
	return hand{s, history.Event{Purchase: id, Instance: instance, Buyer: buyer}}
}

func (p hand) add(at int, e history.Event) hand {
	e.Purchase, e.Instance, e.Buyer = p.id.Purchase, p.id.Instance, p.id.Buyer
	p.s.add(at, e)
	return p
}

func (p hand) wire(at int, e history.Event) hand {
	e.Instance, e.Key = p.id.Instance, lockKey
	if e.Server == "" {
		e.Server = "redis"
	}
	p.s.add(at, e)
	return p
}

func (p hand) ask(at int) hand { return p.add(at, history.Event{Kind: history.AcquireStart}) }

// granted has the server grant the key with a TTL; the value is the purchase's id.
func (p hand) granted(at int) hand { return p.grantedBy("redis", at) }

func (p hand) grantedBy(server string, at int) hand {
	return p.wire(at, history.Event{Kind: history.WireAcquired, Server: server, Command: "SET", Value: p.id.Purchase})
}

// acquired has the instance hear of the grant, just after the wire saw it.
func (p hand) acquired(at int) hand { return p.add(at, history.Event{Kind: history.Acquired}) }

// enter asks, is granted the key and acquires, all at once.
func (p hand) enter(at int) hand { return p.ask(at).granted(at).acquired(at) }

func (p hand) begun(at int, token int64, units int) hand {
	p.add(at, history.Event{Kind: history.Begun, Token: token, Units: units})
	return p.add(at, history.Event{Kind: history.CallStart, Token: token})
}

func (p hand) returned(at int) hand { return p.add(at, history.Event{Kind: history.CallEnd}) }

// commit writes a stock over another one and leaves the call.
func (p hand) commit(at int, token int64, units, before int) hand {
	return p.sent(at, token, units).
		add(at, history.Event{Kind: history.Committed, Token: token, Units: units, Before: before})
}

func (p hand) sent(at int, token int64, units int) hand {
	return p.returned(at).add(at, history.Event{Kind: history.CommitStart, Token: token, Units: units})
}

func (p hand) refused(at int, token int64, units int) hand {
	return p.sent(at, token, units).add(at, history.Event{Kind: history.CommitRefused, Token: token})
}

// release gives the key back without a compare; done says whether there was one.
func (p hand) release(at int, done bool) hand {
	return p.add(at, history.Event{Kind: history.ReleaseStart}).
		wire(at, history.Event{Kind: history.WireReleased, Command: "DEL", Done: done}).
		add(at, history.Event{Kind: history.Released})
}

// give gives the key back by its value; reply is what the server answered, and
// said is what the lock made of it.
func (p hand) give(at int, reply string, said history.Kind) hand {
	return p.add(at, history.Event{Kind: history.ReleaseStart}).answer(at+1, p.id.Purchase, reply).
		add(at+2, history.Event{Kind: said})
}

// answer answers a release that compares.
func (p hand) answer(at int, value, reply string) hand {
	return p.wire(at, history.Event{Kind: history.WireReleased, Command: "EVALSHA", Role: roleRelease, Value: value,
		Text: reply, Done: reply == "1", Took: ms(1)})
}

// renew has a renewal answered that was sent a millisecond before.
func (p hand) renew(at int, done bool) hand {
	return p.wire(at, history.Event{Kind: history.WireRenewed, Command: "EVALSHA", Value: p.id.Purchase, Done: done, Took: ms(1)})
}

// unanswered has the reply to an acquiring command be lost.
func (p hand) unanswered(sent, lost int) hand {
	return p.wire(lost, history.Event{Kind: history.WireUnanswered, Command: "SET", Role: roleAcquire, Value: p.id.Purchase, Took: ms(lost - sent)})
}

func (p hand) unknown(at int) hand {
	return p.add(at, history.Event{Kind: history.AcquireUnknown, Err: "i/o timeout"})
}

func (p hand) turnedAway(at int) hand {
	return p.add(at, history.Event{Kind: history.AcquireRefused, Err: "not acquired"})
}

func (p hand) soldOut(at int) hand { return p.add(at, history.Event{Kind: history.SoldOut}) }

// sale is a whole purchase without anything wrong, of 10 ms.
func (s *script) sale(id string, instance, buyer, at int, token int64, units int) {
	s.buy(id, instance, buyer).enter(at).begun(at+1, token, units).commit(at+8, token, units-1, units).release(at+10, true)
}

// end frames the run, lists the committed orders and counts the stock.
func (s *script) end() history.History {
	frame := func(at int, e history.Event) { s.add(at, e) }
	phase := "done"
	if s.stalled {
		phase = stalledPhase
	}
	body := s.events
	s.events = nil
	frame(0, history.Event{Kind: history.RunStarted})
	frame(0, history.Event{Kind: history.ServerHealth, Server: "redis", Phase: "before", Text: "PONG", Done: true})
	frame(0, history.Event{Kind: history.LoadStarted})
	s.events = append(s.events, body...)
	frame(s.deadline, history.Event{Kind: history.LoadEnded, Phase: phase})
	frame(s.deadline+1, history.Event{Kind: history.ServerHealth, Server: "redis", Phase: "after", Text: "PONG", Done: true})
	s.count(body)
	frame(s.deadline+3, history.Event{Kind: history.RunEnded})
	h := history.History{Plan: s.plan, Events: s.events}
	s.events = body // more may be written, and another end
	number(h.Events)
	return h
}

// count appends what the inventory says after the load.
func (s *script) count(body []history.Event) {
	var commits []history.Event
	for _, e := range body {
		if e.Kind == history.Committed {
			commits = append(commits, e)
		}
	}
	slices.SortStableFunc(commits, func(a, b history.Event) int { return cmp.Compare(a.At, b.At) })
	left := s.plan.Stock
	for _, c := range commits {
		left = c.Units
		s.add(s.deadline+2, history.Event{Kind: history.OrderFound, Purchase: c.Purchase, Token: c.Token, Instance: c.Instance, Buyer: c.Buyer})
	}
	s.add(s.deadline+2, history.Event{Kind: history.StockCounted, Units: left, Count: len(commits)})
}

func number(events []history.Event) {
	for i := range events {
		events[i].N = int64(i) + 1
	}
}

// judge asks one check, or all of them for "".
func judge(name string, h history.History) []result.Finding {
	var fs []result.Finding
	for _, c := range All() {
		if name == "" || c.Name == name {
			fs = append(fs, c.Judge(h)...)
		}
	}
	return fs
}

// only returns the one finding that a check must have.
func only(t require.TestingT, name string, h history.History) result.Finding {
	fs := judge(name, h)
	require.Len(t, fs, 1, "findings of %s", name)
	return fs[0]
}

// at finds the first event that fits, to be mutated.
func at(h history.History, fits func(history.Event) bool) *history.Event {
	i := slices.IndexFunc(h.Events, fits)
	if i < 0 {
		panic("no such event in this history")
	}
	return &h.Events[i]
}

func kind(k history.Kind) func(history.Event) bool {
	return func(e history.Event) bool { return e.Kind == k }
}

func of(k history.Kind, purchase string) func(history.Event) bool {
	return func(e history.Event) bool { return e.Kind == k && e.Purchase == purchase }
}

// without removes the events that fit and numbers the others again.
func without(h history.History, fits func(history.Event) bool) history.History {
	h.Events = slices.DeleteFunc(slices.Clone(h.Events), fits)
	number(h.Events)
	return h
}

// good is a run of three units sold by two instances, with one planned fault
// that the lock withstood, and two buyers who found nothing left.
func good() history.History {
	s := newScript(3)
	s.plan.Fenced, s.plan.Renews, s.plan.Lock = true, true, "fenced"
	s.sale("1.1.1", 1, 1, 10, 1, 3)
	s.step(22, history.Event{Fault: "slow-call", Instance: 2, Purchase: "2.1.1"})
	s.buy("2.1.1", 2, 1).enter(21).begun(22, 2, 3-1).
		wire(121, history.Event{Kind: history.WireRenewed, Value: "2.1.1", Done: true}).
		wire(221, history.Event{Kind: history.WireRenewed, Value: "2.1.1", Done: true}).
		wire(321, history.Event{Kind: history.WireRenewed, Value: "2.1.1", Done: true}).
		commit(472, 2, 1, 2).release(473, true)
	s.sale("1.2.1", 1, 2, 480, 3, 1)
	for i, p := range []hand{s.buy("1.1.2", 1, 1), s.buy("2.1.2", 2, 1)} {
		from := 500 + 10*i
		p.enter(from).add(from+1, history.Event{Kind: history.Begun, Token: int64(4 + i), Units: 0}).release(from+2, true).soldOut(from + 2)
	}
	return s.end()
}

// incident is the flash sale in small: a lock without renewal and a blind DEL.
// A's key expires, B enters, A's DEL frees B's key, C enters, and B writes an
// old stock over theirs.
func incident() history.History {
	s := newScript(3)
	s.step(13, history.Event{Fault: "slow-call", Instance: 1, Purchase: "A"})
	s.buy("A", 1, 1).enter(10).begun(12, 1, 3).commit(465, 1, 2, 3).release(467, true)
	s.buy("B", 2, 7).ask(20).granted(312).acquired(313).begun(314, 2, 3).commit(500, 2, 2, 1).release(502, false)
	s.buy("C", 3, 2).ask(21).granted(468).acquired(469).begun(470, 3, 2).commit(480, 3, 1, 2).release(482, true)
	s.sale("D", 1, 2, 510, 4, 2)
	s.sale("E", 2, 3, 530, 5, 1)
	return s.end()
}

// standstill is a holder that was killed after SETNX and before EXPIRE.
func standstill() history.History {
	s := newScript(3)
	s.plan.Scenario, s.plan.Hazard = "crash-before-expire", string(result.HolderCrash)
	s.deadline, s.stalled = 1200, true
	s.sale("1.1.1", 1, 1, 10, 1, 3)
	s.buy("2.1.1", 2, 1).ask(15)
	s.buy("3.7.1", 3, 7).ask(15).wire(30, history.Event{Kind: history.WireAcquired, Command: "SETNX", Value: "3.7.1"})
	s.step(36, history.Event{Fault: "kill-instance", Instance: 3, Text: "pid 4711: signal: killed"})
	s.add(35, history.Event{Kind: history.InstanceExited, Instance: 3, Text: "signal: killed"})
	s.buy("2.1.1", 2, 1).add(1200, history.Event{Kind: history.AcquireUnknown, Err: "the load has ended"})
	s.add(1190, history.Event{Kind: history.KeyState, Server: "redis", Key: lockKey, Value: "3.7.1", TTL: -1})
	return s.end()
}

// failover is a holder whose key was lost with the master, and a buyer who got
// in through the new one while it was still in its call.
func failover() *script {
	s := newScript(3)
	s.plan.Scenario, s.plan.Hazard, s.plan.Shape = "sentinel-failover", string(result.LostMaster), "sentinel"
	s.plan.TTL = ms(1000)
	s.step(99, history.Event{Fault: "cut-replication", Instance: 1, Purchase: "A", Text: "both replicas are down"})
	s.add(100, history.Event{Kind: history.ServerRole, Server: "master", Text: "killed"})
	s.step(401, history.Event{Fault: "kill-master", Instance: 1, Purchase: "A", Text: "master exited, signal 9; the sentinels promoted replica-1"})
	s.step(600, history.Event{Fault: "outlast", Instance: 1, Purchase: "A", Text: "others sold a unit meanwhile"})
	s.add(400, history.Event{Kind: history.ServerRole, Server: "replica-1", Text: "promoted"})
	s.buy("A", 1, 1).ask(5).grantedBy("master", 10).acquired(11).begun(12, 1, 3).commit(600, 1, 2, 2)
	s.buy("B", 2, 7).ask(20).grantedBy("replica-1", 420).acquired(421).begun(422, 2, 3).commit(430, 2, 2, 3)
	s.buy("B", 2, 7).add(431, history.Event{Kind: history.ReleaseStart}).
		wire(432, history.Event{Kind: history.WireReleased, Server: "replica-1", Command: "DEL", Done: true}).
		add(433, history.Event{Kind: history.Released})
	s.buy("C", 3, 1).ask(610).grantedBy("replica-1", 620).acquired(621).begun(622, 3, 2).commit(630, 3, 1, 2)
	s.buy("D", 3, 2).ask(640).grantedBy("replica-1", 1650).acquired(1651).begun(1652, 4, 1).commit(1660, 4, 0, 1)
	return s
}
