package checks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

func TestAllAreNamedOnceAndDescribed(t *testing.T) {
	t.Parallel()
	names := make(map[string]bool)
	properties := make(map[result.Property]bool)
	for _, c := range All() {
		assert.NotEmpty(t, c.Name)
		assert.False(t, names[c.Name], "%s is listed twice", c.Name)
		assert.False(t, properties[c.Property], "%s is judged twice", c.Property)
		assert.NotEmpty(t, c.Summary, c.Name)
		assert.NotContains(t, c.Summary, "\n", c.Name)
		assert.NotEmpty(t, c.Property, c.Name)
		require.NotNil(t, c.Judge, c.Name)
		names[c.Name], properties[c.Property] = true, true
	}
}

func TestGoodHistoryHasNoFindings(t *testing.T) {
	t.Parallel()
	h := good()
	assert.Empty(t, judge("", h))
	assert.Equal(t, result.OK, result.VerdictOf(judge("", h)))
	assert.Equal(t, []string{"3 sold and 0 left of 3: none too many"}, Reconstruct(h).Explain())
	assert.Empty(t, Reconstruct(h).Traces())
	assert.Equal(t, 3, Reconstruct(h).Sold())
	assert.Zero(t, Reconstruct(h).Left())
	assert.Zero(t, Reconstruct(h).DoubleHolds())
	assert.Zero(t, Reconstruct(h).LostUpdates())
	assert.Zero(t, Reconstruct(h).FenceRefused())
}

// mutations change one thing in the good history; the one check that is there
// for it must notice.
var mutations = []struct {
	name    string
	mutate  func(h *history.History)
	check   string
	verdict result.Verdict // of the finding
	voids   bool
	text    string // a part of it
}{
	{"an order more than the stock", func(h *history.History) { h.Plan.Stock = 2 },
		"reconciliation", result.Oversold, false, "3 sold of 2: 1 too many"},
	{"a unit more on the shelf", func(h *history.History) { at(*h, kind(history.StockCounted)).Units = 1 },
		"reconciliation", result.Mismatch, false, "3 sold and 1 left of 3: 1 too many"},
	{"a unit missing", func(h *history.History) { h.Plan.Stock = 4 },
		"reconciliation", result.Mismatch, false, "3 sold and 0 left of 4: 1 missing"},
	{"never counted", func(h *history.History) { *h = without(*h, kind(history.StockCounted)) },
		"reconciliation", result.Inconclusive, false, "never counted"},
	{"an order missing in the list", func(h *history.History) { *h = without(*h, of(history.OrderFound, "1.2.1")) },
		"reconciliation", result.Mismatch, false, "counted 3 orders and listed 2"},
	{"the fence goes back", func(h *history.History) { at(*h, of(history.OrderFound, "1.2.1")).Token = 1 },
		"fence", result.Mismatch, false, "token 1 of instance 1, buyer 2 after token 2 of instance 2, buyer 1"},
	{"the fence lets a commit through that was overtaken", func(h *history.History) { at(*h, of(history.Begun, "1.1.1")).Token = 9 },
		"fence", result.Mismatch, false, "although instance 1, buyer 1 had begun with token 9"},
	{"the engine gave up", func(h *history.History) {
		at(*h, kind(history.LoadEnded)).Phase = stalledPhase
		h.Plan.Stock, at(*h, kind(history.StockCounted)).Units = 5, 2
	},
		"progress", result.Stalled, false, "until the load was given up at 2.000 s"},
	{"a gap longer than the bound", func(h *history.History) { h.Plan.StallAfter = time.Millisecond },
		"progress", result.Stalled, false, "nobody acquired for 459 ms from 0.021 s on"},
	{"a step without evidence", func(h *history.History) { at(*h, kind(history.FaultInjected)).Text = "" },
		"assumptions", result.Inconclusive, true, "step 1 (slow-call, planned) left no evidence"},
	{"an optional step that was due and left no evidence", func(h *history.History) {
		h.Plan.Steps = append(h.Plan.Steps, history.Step{Fault: "delay", When: "renewing", Optional: true})
		e := at(*h, of(history.SoldOut, "1.1.2"))
		*e = history.Event{N: e.N, At: e.At, Kind: history.FaultDue, Fault: "delay", Step: 2}
	},
		"assumptions", result.Inconclusive, true, "step 2 (delay, renewing) was due at"},
	{"a step that wasn't played", func(h *history.History) {
		h.Plan.Steps = append(h.Plan.Steps, history.Step{Fault: "kill-master", When: "later"})
	}, "assumptions", result.Inconclusive, true, "step 2 (kill-master, later)"},
	{"a fault that failed", func(h *history.History) {
		*at(*h, of(history.SoldOut, "1.1.2")) = history.Event{N: at(*h, of(history.SoldOut, "1.1.2")).N, At: ms(502), Kind: history.FaultFailed, Fault: "slow-call", Step: 1, Err: "no proof"}
	}, "assumptions", result.Inconclusive, false, "step 1 (slow-call) failed at 0.502 s: no proof"},
	{"interrupted", func(h *history.History) {
		e := at(*h, kind(history.LoadEnded))
		e.Phase, e.Text = interruptedPhase, "context canceled"
	}, "assumptions", result.Inconclusive, false, "the load was cut short at 2.000 s: context canceled"},
	{"too few orders", func(h *history.History) { h.Plan.MinSold = 50 },
		"assumptions", result.Inconclusive, false, "only 3 orders: fewer than 50"},
	{"a sick server before", func(h *history.History) { at(*h, kind(history.ServerHealth)).Done = false },
		"assumptions", result.Inconclusive, true, "server redis wasn't healthy before the load"},
	{"a sick server after", func(h *history.History) {
		e := at(*h, func(e history.Event) bool { return e.Phase == "after" })
		e.Done, e.Text = false, "connection refused"
	}, "assumptions", result.Inconclusive, true, "server redis wasn't healthy after the load: connection refused"},
	{"a server nobody looked at again", func(h *history.History) {
		at(*h, func(e history.Event) bool { return e.Phase == "after" }).Server = "another"
	}, "assumptions", result.Inconclusive, true, "nobody looked at the health of server redis after the load"},
	{"no health before", func(h *history.History) {
		*h = without(*h, func(e history.Event) bool { return e.Phase == "before" })
	}, "assumptions", result.Inconclusive, true, "before the load"},
	{"an instance broke down", func(h *history.History) {
		e := at(*h, of(history.SoldOut, "2.1.2"))
		*e = history.Event{N: e.N, At: ms(2001), Kind: history.InstanceExited, Instance: 2, Err: "exit status 2"}
	}, "assumptions", result.Inconclusive, true, "instance 2 ended unplanned at 2.001 s: exit status 2"},
	{"cut off", func(h *history.History) { h.Events = h.Events[:len(h.Events)-1] },
		"assumptions", result.Inconclusive, true, "it has no run.ended"},
	{"a hole", func(h *history.History) {
		for i := 10; i < len(h.Events); i++ {
			h.Events[i].N++
		}
	}, "assumptions", result.Inconclusive, true, "their numbers go up to"},
}

func TestOneMutation(t *testing.T) {
	t.Parallel()
	for _, tc := range mutations {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := good()
			tc.mutate(&h)
			var found []result.Finding
			for _, f := range judge(tc.check, h) {
				if f.Verdict == tc.verdict && f.Voids == tc.voids {
					found = append(found, f)
				}
			}
			require.NotEmpty(t, found, "all findings: %v", judge("", h))
			assert.Contains(t, found[0].Text, tc.text)
			assert.NotNil(t, found[0].Events, "events are a list, also when it is empty")
			want := tc.verdict
			if tc.voids {
				want = result.Inconclusive
			}
			assert.Equal(t, want, result.VerdictOf(judge("", h)))
		})
	}
}

// TestHarmlessChanges are mutations that must not be held against the run.
func TestHarmlessChanges(t *testing.T) {
	t.Parallel()
	for name, mutate := range map[string]func(h *history.History){
		"an optional step wasn't reached": func(h *history.History) {
			h.Plan.Steps = append(h.Plan.Steps, history.Step{Fault: "delay", Optional: true})
		},
		"a stall under a lock that doesn't renew": func(h *history.History) {
			h.Plan.Renews = false
			e := at(*h, of(history.SoldOut, "1.1.2"))
			*e = history.Event{N: e.N, At: e.At, Kind: history.MachineStalled, Took: ms(150)}
		},
		"the engine gave up on buyers who wait for nothing": func(h *history.History) {
			at(*h, kind(history.LoadEnded)).Phase = stalledPhase
		},
		"a short stall": func(h *history.History) {
			e := at(*h, of(history.SoldOut, "1.1.2"))
			*e = history.Event{N: e.N, At: e.At, Kind: history.MachineStalled, Took: ms(100)}
		},
		"a stall after the load": func(h *history.History) {
			e := at(*h, of(history.SoldOut, "1.1.2"))
			*e = history.Event{N: e.N, At: ms(2200), Kind: history.MachineStalled, Took: ms(150)}
		},
		"an instance that was told to stop": func(h *history.History) {
			e := at(*h, of(history.SoldOut, "1.1.2"))
			*e = history.Event{N: e.N, At: ms(2001), Kind: history.InstanceExited, Instance: 1, Text: "exit status 0"}
		},
		"lines in the wrong order of time": func(h *history.History) {
			for i := range h.Events {
				h.Events[i].At += time.Duration(h.Events[i].N) // the clock alone tells the true order
			}
			for i := 4; i+3 < len(h.Events)-6; i += 4 {
				h.Events[i], h.Events[i+3] = h.Events[i+3], h.Events[i]
			}
			number(h.Events)
		},
		"a commit whose answer got lost": func(h *history.History) {
			e := at(*h, of(history.Committed, "1.2.1"))
			e.Kind, e.Err, e.Units, e.Before = history.CommitUnknown, "i/o timeout", 0, 0
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := good()
			mutate(&h)
			assert.Empty(t, judge("", h))
		})
	}
}

// TestChecksDoNotChangeTheHistory judges twice and compares with a fresh copy.
func TestChecksDoNotChangeTheHistory(t *testing.T) {
	t.Parallel()
	for _, make := range []func() history.History{good, incident, standstill} {
		h := make()
		first := judge("", h)
		story := Reconstruct(h).Explain()
		assert.Equal(t, make(), h)
		assert.Equal(t, first, judge("", h))
		assert.Equal(t, story, Reconstruct(h).Explain())
	}
}

// TestEveryVerdictWinsAsItShould joins findings as the engine does.
func TestEveryVerdictWinsAsItShould(t *testing.T) {
	t.Parallel()
	assert.Equal(t, result.Oversold, result.VerdictOf(judge("", incident())))
	assert.Equal(t, result.Stalled, result.VerdictOf(judge("", standstill())))
	few := standstill()
	few.Plan.MinSold = 2
	assert.Equal(t, result.Stalled, result.VerdictOf(judge("", few)), "a lock that stalls for ever sells little")
	blind := incident()
	at(blind, kind(history.FaultInjected)).Text = ""
	assert.Equal(t, result.Inconclusive, result.VerdictOf(judge("", blind)), "without evidence nothing is concluded")
}

// TestATimelineIsJudgedAsItsHistory also has a check that isn't of this package.
func TestATimelineIsJudgedAsItsHistory(t *testing.T) {
	t.Parallel()
	own := Check{Name: "own", Judge: func(h history.History) []result.Finding {
		return []result.Finding{{Text: h.Plan.Lock, Events: []int64{int64(len(h.Events))}}}
	}}
	list := append(All(), own)
	for _, h := range []history.History{good(), incident(), standstill(), failover().end(), slowShop().end()} {
		one := []result.Finding{}
		for _, c := range list {
			one = append(one, c.Judge(h)...)
		}
		assert.Equal(t, one, Reconstruct(h).Judge(list))
	}
}

// slowShop sells a unit too many because a purchase took 450 ms, of which its
// call was only a part.
func slowShop() *script {
	s := newScript(2)
	s.plan.Call = ms(4)
	s.buy("A", 1, 3).ask(5).granted(10).acquired(400).begun(401, 1, 2).commit(420, 1, 1, 1).release(421, false)
	s.buy("B", 2, 7).ask(20).granted(312).acquired(400).begun(400, 2, 2).commit(405, 2, 1, 2).release(410, true)
	s.sale("C", 2, 7, 470, 3, 1)
	return s
}

func TestBusyMachineSaysNothingAboutALock(t *testing.T) {
	t.Parallel()
	f := only(t, "assumptions", slowShop().end())
	assert.True(t, f.Voids)
	assert.Equal(t, "this machine was too slow: instance 1, buyer 3 needed 411 ms from the grant of the key to the end of its purchase, "+
		"without any fault, and the TTL is 300 ms", f.Text)
	assert.Equal(t, result.Inconclusive, result.VerdictOf(judge("", slowShop().end())))

	for name, edit := range map[string]func(s *script){
		"a fault was behind it": func(s *script) {
			s.step(420, history.Event{Fault: "slow-call", Instance: 1, Purchase: "A"})
		},
		"a fault on the wire was behind it": func(s *script) {
			s.step(405, history.Event{Fault: "delay", Instance: 1})
		},
		"calls are planned to last that long": func(s *script) { s.plan.Call = ms(150) },
		"the key went away for another reason": func(s *script) {
			s.buy("X", 3, 1).wire(200, history.Event{Kind: history.WireReleased, Command: "DEL", Done: true})
		},
	} {
		s := slowShop()
		edit(s)
		assert.Empty(t, judge("assumptions", s.end()), name)
		assert.Equal(t, result.Oversold, result.VerdictOf(judge("", s.end())), name)
	}
}

func TestLockThatRenewsIsNotExcusedBySlowness(t *testing.T) {
	t.Parallel()
	s := slowShop()
	s.plan.Renews = true
	assert.Empty(t, judge("assumptions", s.end()))
}
