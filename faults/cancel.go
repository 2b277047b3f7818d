package faults

import (
	"context"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// Cancel ends every purchase under way in the instance that reached the
// trigger's point, as if its customers had gone, while that point stands still.
type Cancel struct{}

// Name implements Fault.
func (Cancel) Name() string { return "cancel" }

// Summary implements Fault.
func (Cancel) Summary() string {
	return "the customers are gone: every context of the instance's purchases ends"
}

// Available implements Fault: every backend can play it.
func (Cancel) Available(Target) error { return nil }

// Inject returns once a purchase of the instance has ended because of it.
func (f Cancel) Inject(ctx context.Context, t Target) (result.Evidence, Heal, error) {
	ended := t.History.Watch(func(e history.Event) bool {
		if e.Instance != t.Moment.Instance {
			return false
		}
		return e.Kind == history.AcquireRefused || e.Kind == history.AcquireUnknown || e.Kind == history.Abandoned
	})
	defer ended.Stop()
	t.Instance.Cancel()
	e, err := ended.Wait(ctx)
	if err != nil {
		return result.Evidence{}, nil, err
	}
	at := ""
	if x := t.Moment.Exchange; x != nil {
		at = " while " + subject(x) + " hadn't arrived"
	}
	return proof(f, t, "every purchase of instance %d was cancelled%s; the first to end was that of %s (%s)",
		t.Moment.Instance, at, history.Who(e.Purchase), e.Kind), nil, nil
}
