package faults

import (
	"context"
	"fmt"
	"time"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// SlowCall lets the business call last a multiple of the lock's TTL. It stands
// at Called.
type SlowCall struct {
	TTLs float64 // how long the call lasts, in TTLs
}

// Name implements Fault.
func (SlowCall) Name() string { return "slow-call" }

// Summary implements Fault.
func (SlowCall) Summary() string { return "the business call outlives the lock's TTL" }

// Available implements Fault: every backend can play it.
func (SlowCall) Available(Target) error { return nil }

// Inject returns when the call does. A holder that is told that it has lost the
// lock gives its call up.
func (f SlowCall) Inject(ctx context.Context, t Target) (result.Evidence, Heal, error) {
	me, started := t.Moment.Purchase, t.History.Now()
	_, err := awaitEvent(ctx, t, f.TTLs, func(e history.Event) bool { return e.Kind == history.CallEnd && e.Purchase == me })
	if ctx.Err() != nil {
		return result.Evidence{}, nil, ctx.Err()
	}
	took := t.History.Now() - started
	if err == nil {
		return proof(f, t, "the call of %s was given up after %s, %.1f times the TTL of %s",
			history.Who(me), rounded(took), took.Seconds()/t.Plan.TTL.Seconds(), t.Plan.TTL), nil, nil
	}
	return proof(f, t, "the call of %s took %s, %.1f times the TTL of %s",
		history.Who(me), rounded(took), took.Seconds()/t.Plan.TTL.Seconds(), t.Plan.TTL), nil, nil
}

// proof is a fault's evidence as of now.
func proof(f Fault, t Target, format string, args ...any) result.Evidence {
	return result.Evidence{
		Fault: f.Name(),
		Proof: fmt.Sprintf(format, args...),
		AtMS:  t.History.Now().Milliseconds(),
	}
}

// rounded cuts a duration to what a person reads.
func rounded(d time.Duration) time.Duration {
	if d >= 10*time.Second {
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(time.Millisecond)
}
