package faults

import (
	"context"
	"fmt"
	"time"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// HoldOvertaker keeps the first buyer who got in while a slowed call was still
// going on inside, until the slow one has released and a third buyer is in:
// the incident's chain of three holders, by order of events and not by luck.
// It stands at Overtaking. It stays below the TTL, so that it adds no slow call.
type HoldOvertaker struct {
	TTLs float64 // the bound, in TTLs; below 1
}

// Name implements Fault.
func (HoldOvertaker) Name() string { return "hold-overtaker" }

// Summary implements Fault.
func (HoldOvertaker) Summary() string {
	return "whoever overtakes a slow holder stays inside until that holder has released and the next one is in"
}

// Available implements Fault: every backend can play it.
func (HoldOvertaker) Available(Target) error { return nil }

// Inject returns when the third buyer is in, or the bound is reached.
func (f HoldOvertaker) Inject(ctx context.Context, t Target) (result.Evidence, Heal, error) {
	slow, me := t.Moment.Overtaken, t.Moment.Purchase
	released := false
	third := t.History.Watch(func(e history.Event) bool {
		released = released || e.Purchase == slow && releases(e.Kind)
		return released && e.Kind == history.CallStart && e.Purchase != me && e.Purchase != slow
	})
	defer third.Stop()
	started := t.History.Now()
	bound, cancel := context.WithTimeout(ctx, time.Duration(f.TTLs*float64(t.Plan.TTL)))
	defer cancel()
	e, err := third.Wait(bound)
	if ctx.Err() != nil {
		return result.Evidence{}, nil, ctx.Err()
	}
	until := "no third buyer came in"
	if err == nil {
		until = fmt.Sprintf("until %s had released and %s was in", history.Who(slow), history.Who(e.Purchase))
	}
	return proof(f, t, "%s overtook %s and was kept inside for %s: %s",
		history.Who(me), history.Who(slow), rounded(t.History.Now()-started), until), nil, nil
}

func releases(k history.Kind) bool {
	return k == history.Released || k == history.ReleaseNotHeld || k == history.ReleaseUnknown
}
