package checks

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oversell/oversell/history"
)

// sampled puts samples of a server into h.
func sampled(h history.History, server string, at ...int) history.History {
	for _, ms1 := range at {
		h = with(h, history.Event{At: ms(ms1), Kind: history.ServerSampled, Server: server})
	}
	return h
}

// with puts an event where its time is.
func with(h history.History, e history.Event) history.History {
	i := 0
	for i < len(h.Events) && h.Events[i].At <= e.At {
		i++
	}
	rest := append([]history.Event{e}, h.Events[i:]...)
	h.Events = append(h.Events[:i:i], rest...)
	number(h.Events)
	return h
}

func TestAServerThatIsSilentWhileNobodyCanBuy(t *testing.T) {
	t.Parallel()
	const yes = "redis didn't answer the harness either, for "
	killed := history.Event{At: ms(500), Kind: history.ServerRole, Server: "redis", Text: "killed"}
	for name, tc := range map[string]struct {
		h    history.History
		says string
	}{
		"for most of the time":        {sampled(standstill(), "redis", 10, 1190), yes},
		"for half of it":              {sampled(standstill(), "redis", 10, 300, 950, 1190), yes},
		"but never for long":          {sampled(standstill(), "redis", 10, 300, 600, 900, 1190), ""},
		"and never heard of again":    {sampled(standstill(), "redis", 10, 300), ""},
		"as a fault has killed it":    {sampled(with(standstill(), killed), "redis", 10, 1190), ""},
		"and nobody held anything up": {sampled(good(), "redis", 10, 1190), ""},
		"one after the other":         {sampled(sampled(standstill(), "a", 10, 500), "b", 600, 1190), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := serversAnswered(Reconstruct(tc.h))
			if voids(t, tc.h, found, tc.says) {
				assert.Len(t, found[0].Events, 2)
			}
		})
	}
}

// delayed lets the first reply on the wire have been away for so long.
func delayed(h history.History, k history.Kind, took int) history.History {
	h.Events = slices.Clone(h.Events)
	e := at(h, kind(k))
	e.Took, e.Away = ms(took), ms(took)
	return h
}

func TestAServerThatIsTooBusyForTheTTL(t *testing.T) {
	t.Parallel()
	const yes = "or the way to it, took 110 ms for the "
	at1 := func(h history.History) int { return int(at(h, kind(history.WireAcquired)).At / ms(1)) }
	fault := func(h history.History, name string) history.History {
		return with(h, history.Event{At: ms(at1(h)), Kind: history.FaultInjected, Fault: name, Step: 1, Took: ms(5), Text: "proof"})
	}
	for name, tc := range map[string]struct {
		h    history.History
		says string
	}{
		"while the lock had to renew":                {delayed(renewing(incident()), history.WireAcquired, 110), yes},
		"too shortly for a lock that renews":         {delayed(renewing(incident()), history.WireAcquired, 90), ""},
		"and a lock that renews stalled":             {delayed(renewing(standstill()), history.WireAcquired, 110), ""},
		"and a lock without renewal stalled":         {delayed(standstill(), history.WireAcquired, 160), ""},
		"and nothing came of it":                     {delayed(renewing(good()), history.WireAcquired, 110), ""},
		"as a fault wanted it":                       {delayed(fault(renewing(incident()), "freeze-server"), history.WireAcquired, 110), ""},
		"and a fault only prolonged a business call": {delayed(fault(renewing(incident()), "slow-call"), history.WireAcquired, 110), yes},
		"but the planned fault explains it":          {delayed(incident(), history.WireAcquired, 160), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			voids(t, tc.h, serversInTime(Reconstruct(tc.h)), tc.says)
		})
	}
}
