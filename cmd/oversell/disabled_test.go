package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/internal/engine"
	"github.com/oversell/oversell/result"
	"github.com/oversell/oversell/scenarios"
)

// TestAFaultThatDoesNothingIsInconclusive plays every scenario once for each of
// its faults, with that fault in place and without any effect. The run goes on
// to its end, and nothing may be concluded from it: a harness that passes what
// it has not provoked proves nothing. With sentinels, which take long to start,
// each fault is played in one scenario.
func TestAFaultThatDoesNothingIsInconclusive(t *testing.T) {
	t.Parallel()
	a := &app{}
	a.join()
	played := map[string]bool{}
	for _, s := range a.scenarios {
		for i, st := range s.Steps {
			step := i + 1
			if s.Shape == cluster.Sentinel {
				if played[st.Do.Name()] {
					continue
				}
				played[st.Do.Name()] = true
			}
			t.Run(fmt.Sprintf("%s/%d-%s", s.Name, step, st.Do.Name()), func(t *testing.T) {
				t.Parallel()
				p := proving(t, a)
				p.config.Disable = func(n int) bool { return n == step }
				ended := p.play(t, engine.Job{Scenario: small(s), Kind: p.kind(t, reaching(s, step)), Seed: 7})

				require.NotEmpty(t, due(ended.History, step), "its moment came, or the test shows nothing")
				r := ended.Result
				assert.Equal(t, result.Inconclusive, r.Verdict, "%+v", r.Findings)
				assert.Equal(t, result.GateUnresolved, r.Gate)
				want := fmt.Sprintf("step %d (%s, %s) was due at ", step, st.Do.Name(), st.When)
				assert.True(t, slices.ContainsFunc(r.Findings, func(f result.Finding) bool {
					return strings.HasPrefix(f.Text, want) && f.Voids
				}), "no finding names it: %+v", r.Findings)
			})
		}
	}
}

// reaching is a lock under which the step's moment comes: a broken one where
// only such a lock gets so far.
func reaching(s scenarios.Scenario, step int) string {
	switch {
	case s.Shape == cluster.Quorum:
		return "fenced-redlock"
	case s.Steps[step-1].Do.Name() == "hold-overtaker":
		return "setnx-expire-del"
	}
	return "fenced"
}

// small is s with as little load and as short waits as its steps allow. A TTL
// that is too short to show anything is fine where nothing is to be shown.
func small(s scenarios.Scenario) scenarios.Scenario {
	l := &s.Load
	l.Stock, l.Instances, l.Requests, l.Linger = 24, 2, 0, 0
	for _, st := range s.Steps {
		l.Stock = max(l.Stock, st.When.Nth+5)
	}
	l.Buyers = l.Stock + 2
	if s.Shape == cluster.Quorum {
		l.Stock, l.Buyers = 12, 14
	}
	l.TTL = min(l.TTL, 400*time.Millisecond)
	return s
}

func due(h history.History, step int) []history.Event {
	var list []history.Event
	for _, e := range h.Events {
		if e.Kind == history.FaultDue && e.Step == step {
			list = append(list, e)
		}
	}
	return list
}
