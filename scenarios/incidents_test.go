package scenarios_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/scenarios"
)

func named(t *testing.T, name string) scenarios.Scenario {
	t.Helper()
	all := scenarios.All()
	i := slices.IndexFunc(all, func(s scenarios.Scenario) bool { return s.Name == name })
	require.GreaterOrEqual(t, i, 0, "no scenario is called %s", name)
	return all[i]
}

// slowCalls is how long the slow calls of s take.
func slowCalls(s scenarios.Scenario) (quickest, slowest time.Duration) {
	quickest = time.Hour
	for _, st := range s.Steps {
		if f, ok := st.Do.(faults.SlowCall); ok {
			d := time.Duration(f.TTLs * float64(s.Load.TTL)).Round(time.Microsecond)
			quickest, slowest = min(quickest, d), max(slowest, d)
		}
	}
	return quickest, slowest
}

func TestIncidentsHaveTheirOwnFigures(t *testing.T) {
	sale := named(t, "flash-sale")
	require.Equal(t, 200*time.Millisecond, sale.Load.TTL, "25 times faster unless told otherwise")
	sale = sale.AtTimeScale(1)
	require.Equal(t, []int{100, 6, 200}, []int{sale.Load.Stock, sale.Load.Instances, sale.Load.Buyers})
	require.Equal(t, 5*time.Second, sale.Load.TTL)
	quick, slow := slowCalls(sale)
	require.Equal(t, []time.Duration{6 * time.Second, 8 * time.Second}, []time.Duration{quick, slow})

	service := named(t, "purchase-service").AtTimeScale(1)
	require.Equal(t, 500, service.Load.Requests)
	require.Equal(t, 2*time.Second, service.Load.TTL)
	require.Equal(t, 200*time.Millisecond, service.Load.Call)
	quick, slow = slowCalls(service)
	require.Equal(t, []time.Duration{3 * time.Second, 3 * time.Second}, []time.Duration{quick, slow})

	thousand := named(t, "thousand-buyers")
	require.Equal(t, 1000, thousand.Load.Buyers)
	_, slow = slowCalls(thousand)
	require.Less(t, 3*slow, 2*thousand.Load.TTL, "no call comes near the TTL")
}

func TestTimeScaleDividesEveryDuration(t *testing.T) {
	s := scenarios.Scenario{
		Load: scenarios.Load{
			TTL: 10 * time.Second, MinTTL: time.Second, Call: time.Second, RetryEvery: 2 * time.Second,
			StallAfter: 30 * time.Second, Linger: 20 * time.Second,
		},
		Steps: []faults.Step{{
			When: faults.Trigger{At: 4 * time.Second}, For: 6 * time.Second,
			Do: faults.Outlast{Sales: 3, Bound: 8 * time.Second},
		}, {When: faults.Trigger{Point: faults.Called}, Do: faults.SlowCall{TTLs: 1.5}}},
	}
	fast := s.AtTimeScale(10)
	require.Equal(t, scenarios.Load{
		TTL: time.Second, MinTTL: time.Second, Call: 100 * time.Millisecond, RetryEvery: 200 * time.Millisecond,
		StallAfter: 3 * time.Second, Linger: 2 * time.Second,
	}, fast.Load, "how short a TTL may be is about the machine")
	require.Equal(t, []faults.Step{{
		When: faults.Trigger{At: 400 * time.Millisecond}, For: 600 * time.Millisecond,
		Do: faults.Outlast{Sales: 3, Bound: 800 * time.Millisecond},
	}, {When: faults.Trigger{Point: faults.Called}, Do: faults.SlowCall{TTLs: 1.5}}}, fast.Steps)
	require.Equal(t, 8*time.Second, s.Steps[0].Do.(faults.Outlast).Bound, "the scenario itself stays as it is")

	require.Equal(t, s.Load, fast.AtTimeScale(1).Load, "and back")
}
