package scenarios_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/result"
	"github.com/oversell/oversell/scenarios"
)

func TestEveryScenarioIsFitToPlay(t *testing.T) {
	hazards := map[result.Hazard]bool{}
	for _, h := range result.Hazards() {
		hazards[h.Hazard] = true
	}
	listed := map[string]bool{}
	for _, f := range faults.All() {
		listed[f.Name()] = true
	}
	seen := map[string]bool{}
	for _, s := range scenarios.All() {
		t.Run(s.Name, func(t *testing.T) {
			require.Regexp(t, `^[a-z0-9]+(-[a-z0-9]+)*$`, s.Name)
			require.False(t, seen[s.Name], "listed twice")
			seen[s.Name] = true
			require.NotEmpty(t, s.Summary)
			require.True(t, hazards[s.Hazard], "hazard %q isn't in result.Hazards", s.Hazard)
			require.NotEmpty(t, s.Shape)

			l := s.Load
			require.Positive(t, l.Stock)
			require.Positive(t, l.Instances)
			require.GreaterOrEqual(t, l.Buyers, l.Instances)
			require.Greater(t, l.Wanted(), l.Stock, "without more demand than stock nothing can be oversold")
			require.Positive(t, l.MinTTL)
			require.GreaterOrEqual(t, l.TTL, l.MinTTL)
			require.Positive(t, l.Call)
			require.LessOrEqual(t, l.Call, l.TTL/10, "an ordinary call is no fault")
			require.Positive(t, l.RetryEvery)
			require.Positive(t, l.StallAfter)

			proven := 0
			for i, st := range s.Steps {
				require.True(t, listed[st.Do.Name()], "fault %q isn't in faults.All", st.Do.Name())
				require.LessOrEqual(t, st.When.After, i, "step %d waits for itself or a later one", i+1)
				if !st.Optional {
					proven++
				}
			}
			require.Positive(t, proven, "a scenario without a fault that must happen proves nothing")
		})
	}
}

func TestWanted(t *testing.T) {
	require.Equal(t, 200, scenarios.Load{Stock: 100, Buyers: 50}.Wanted())
	require.Equal(t, 300, scenarios.Load{Stock: 100, Buyers: 300}.Wanted())
	require.Equal(t, 500, scenarios.Load{Stock: 100, Buyers: 50, Requests: 500}.Wanted())
}
