package historytest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// Script is a history that is written by hand. Times are since the run's start.
type Script struct {
	Plan   history.Plan
	Events []history.Event
}

const lockKey = "oversell:lock"

// New begins a history of one server, a stock and some instances.
func New(stock, instances int) *Script {
	return &Script{Plan: history.Plan{
		Schema: history.PlanSchema, Scenario: "ttl-expiry", Hazard: string(result.SlowCall), Lock: "setnx-expire-del", Alias: "naive",
		Backend: "process", Shape: "single", Server: "Redis 7.0.15", Stock: stock, Instances: instances, Buyers: 2 * instances,
		Requests: 2 * stock, TTL: 300 * time.Millisecond, RetryEvery: 10 * time.Millisecond, StallAfter: time.Second, MinSold: 1,
		Key: lockKey, SKU: "sku", Expected: string(result.ExpectNotOK), Seed: 1,
	}}
}

// Add adds an event at a time.
func (s *Script) Add(at time.Duration, e history.Event) *Script {
	e.At = at
	s.Events = append(s.Events, e)
	return s
}

// History puts the events in order and numbers them.
func (s *Script) History() history.History {
	slices.SortStableFunc(s.Events, func(a, b history.Event) int { return cmp.Compare(a.At, b.At) })
	for i := range s.Events {
		s.Events[i].N = int64(i) + 1
	}
	return history.History{Plan: s.Plan, Events: s.Events}
}

// Buy is one purchase that goes as it should, unless fields say otherwise.
type Buy struct {
	ID              string
	Instance, Buyer int
	At              time.Duration // the lock is acquired
	Call            time.Duration // until the commit
	Read, Over      int           // the stock that it reads, and that it overwrites
	Token           int64
	Refused         bool // by the fence
	NoRelease       bool // it never comes to its release
	LostKey         bool // the key isn't its own any more at its release
	Value           string
}

// Buy writes a purchase: asked, granted, acquired, begun, called, committed,
// released, all within moments except for the call.
func (s *Script) Buy(b Buy) *Script {
	e := func(kind history.Kind) history.Event {
		return history.Event{Kind: kind, Purchase: b.ID, Instance: b.Instance, Buyer: b.Buyer}
	}
	onWire := func(kind history.Kind, command string, done bool) history.Event {
		return history.Event{Kind: kind, Instance: b.Instance, Server: "redis", Command: command, Key: lockKey, Value: b.Value, Done: done}
	}
	const step = 10 * time.Microsecond
	s.Add(b.At-5*step, e(history.AcquireStart))
	s.Add(b.At-step, onWire(history.WireAcquired, "SET", true))
	s.Add(b.At, e(history.Acquired))
	begun := e(history.Begun)
	begun.Token, begun.Units = b.Token, b.Read
	s.Add(b.At+step, begun)
	s.Add(b.At+2*step, e(history.CallStart))
	end := b.At + b.Call
	called := e(history.CallEnd)
	called.Took = b.Call
	s.Add(end, called)
	start := e(history.CommitStart)
	start.Token, start.Units = b.Token, b.Read-1
	s.Add(end+step, start)
	done := e(history.Committed)
	done.Token, done.Units, done.Before = b.Token, b.Read-1, b.Over
	if b.Refused {
		done = e(history.CommitRefused)
		done.Token = b.Token
	}
	s.Add(end+2*step, done)
	if b.NoRelease {
		return s
	}
	s.Add(end+3*step, e(history.ReleaseStart))
	s.Add(end+5*step, onWire(history.WireReleased, "DEL", !b.LostKey))
	return s.Add(end+6*step, e(history.Released))
}

// Fault records an injection that took some time, at its end.
func (s *Script) Fault(at, took time.Duration, name string, instance int, purchase string) *Script {
	s.Plan.Steps = append(s.Plan.Steps, history.Step{Fault: name, When: "planned"})
	return s.Add(at, history.Event{
		Kind: history.FaultInjected, Fault: name, Step: len(s.Plan.Steps), Instance: instance, Purchase: purchase,
		Text: "seen to happen", Took: took,
	})
}

// Load frames the time in which buyers bought, and Count ends the history: the
// orders, in the order of their commits, and the stock.
func (s *Script) Load(from, to time.Duration) *Script {
	s.Add(0, history.Event{Kind: history.RunStarted})
	for i := range s.Plan.Instances {
		s.Add(from/2, history.Event{Kind: history.InstanceStarted, Instance: i + 1, Text: fmt.Sprintf("pid %d", 4711+i)})
	}
	s.Add(from, history.Event{Kind: history.LoadStarted})
	s.Add(to, history.Event{Kind: history.LoadEnded, Phase: "done", Text: "every buyer is done"})
	return s
}

// Count ends the history with what the inventory holds.
func (s *Script) Count(at time.Duration, left int) *Script {
	slices.SortStableFunc(s.Events, func(a, b history.Event) int { return cmp.Compare(a.At, b.At) })
	n := 0
	for _, e := range slices.Clone(s.Events) {
		if e.Kind == history.Committed {
			n++
			s.Add(at, history.Event{Kind: history.OrderFound, Purchase: e.Purchase, Token: e.Token, Instance: e.Instance, Buyer: e.Buyer})
		}
	}
	s.Add(at, history.Event{Kind: history.StockCounted, Units: left, Count: n})
	return s.Add(at+time.Millisecond, history.Event{Kind: history.RunEnded})
}

// Incident is the shortest run that oversells: the call of instance 1 outlives
// its key, instance 2 reads the same stock, and both sell it.
func Incident() *Script {
	const ms = time.Millisecond
	s := New(2, 3)
	s.Load(20*ms, 900*ms)
	s.Buy(Buy{ID: "1.1.1", Instance: 1, Buyer: 1, At: 50 * ms, Call: 450 * ms, Read: 2, Over: 1, Token: 1, Value: "a", LostKey: true})
	s.Buy(Buy{ID: "2.1.1", Instance: 2, Buyer: 1, At: 360 * ms, Call: 100 * ms, Read: 2, Over: 2, Token: 2, Value: "b"})
	s.Buy(Buy{ID: "3.1.1", Instance: 3, Buyer: 1, At: 600 * ms, Call: 5 * ms, Read: 1, Over: 1, Token: 3, Value: "c"})
	s.Fault(500*ms, 450*ms, "slow-call", 1, "1.1.1")
	return s.Count(950*ms, 0)
}

// Large is a run of at least so many events, which oversells every time that a
// whole part of its purchases is over: violations times in all.
func Large(events, violations int) *Script {
	const each = 11 // events of a purchase, and its order
	n := events/each + 1
	s := New(n, 20)
	s.Events = make([]history.Event, 0, n*each+100)
	every := n / (violations + 1)
	at, stock := 100*time.Millisecond, n
	for i := range n {
		b := Buy{
			ID: fmt.Sprintf("%d.%d.%d", i%20+1, i%40+1, i), Instance: i%20 + 1, Buyer: i%40 + 1, At: at, Call: 3 * time.Millisecond,
			Read: stock, Over: stock, Token: int64(i + 1), Value: fmt.Sprintf("v%d", i),
		}
		if every > 0 && i%every == every-1 && i+1 < n { // outlives its key, and writes over the next sale
			b.Call, b.Over, b.LostKey = 2*time.Second, stock-1, true
			s.Fault(at+b.Call, b.Call, "slow-call", b.Instance, b.ID)
			s.Buy(b)
			other := b
			other.ID, other.Instance = b.ID+"x", b.Instance%20+1
			other.At, other.Call, other.Over, other.LostKey, other.Value = at+time.Second, 5*time.Millisecond, stock, false, b.Value+"x"
			s.Buy(other)
			at += 2100 * time.Millisecond
			stock--
			continue
		}
		s.Buy(b)
		stock--
		at += 4 * time.Millisecond
	}
	s.Plan.Steps = s.Plan.Steps[:min(1, len(s.Plan.Steps))]
	s.Load(50*time.Millisecond, at+10*time.Millisecond)
	return s.Count(at+100*time.Millisecond, stock)
}
