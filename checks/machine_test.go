package checks

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// stoodStill puts a standstill of the machine into h, after 100 ms under load.
func stoodStill(h history.History, took int) history.History {
	e := history.Event{At: ms(100 + took), Kind: history.MachineStalled, Took: ms(took)}
	h.Events = append(h.Events[:len(h.Events)-1:len(h.Events)-1], e, h.Events[len(h.Events)-1])
	number(h.Events)
	return h
}

func unplanned(h history.History) history.History {
	h.Plan.Steps = nil
	return without(h, kind(history.FaultInjected))
}

func renewing(h history.History) history.History {
	h.Plan.Renews = true
	return h
}

// voids asserts that there is one finding, which says so and leaves nothing to
// conclude from h, or none when it is to say nothing. It reports whether there is one.
func voids(t *testing.T, h history.History, found []result.Finding, says string) bool {
	t.Helper()
	if says == "" {
		return !assert.Empty(t, found)
	}
	return assert.Len(t, found, 1) &&
		assert.Contains(t, found[0].Text, says) &&
		assert.True(t, found[0].Voids) &&
		assert.Equal(t, result.Inconclusive, result.VerdictOf(judge("", h)))
}

func TestAMachineThatStoodStill(t *testing.T) {
	t.Parallel()
	const yes = "this machine stood still for"
	for _, tc := range []struct {
		name string
		h    history.History
		says string
	}{
		{"and nothing came of it", stoodStill(good(), 200), ""},
		{"and units too many without a fault", stoodStill(unplanned(incident()), 200), yes + " 200 ms from 0.100 s on"},
		{"too shortly for a key to expire", stoodStill(unplanned(incident()), 140), ""},
		{"but the planned fault explains it", stoodStill(incident(), 200), ""},
		{"while the lock had to renew", stoodStill(renewing(incident()), 110), yes + " 110 ms"},
		{"too shortly for a lock that renews", stoodStill(renewing(incident()), 90), ""},
		{"but the key went with its master", stoodStill(renewing(failover().end()), 400), ""},
		{"and a lock without renewal stalled by itself", stoodStill(standstill(), 200), ""},
		{"and a lock that renews stalled", stoodStill(renewing(standstill()), 200), yes},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			found := machineRan(Reconstruct(tc.h))
			if voids(t, tc.h, found, tc.says) {
				assert.Equal(t, result.Inconclusive, result.VerdictOf(found))
				assert.Contains(t, Reconstruct(tc.h).Explain()[0], "nothing can be concluded from this run: "+found[0].Text)
			}
		})
	}
}
