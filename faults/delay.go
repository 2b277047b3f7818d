package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// DelayUntilTaken keeps a command of the holder on the wire until the server
// has granted the key to somebody else, which takes until the key has expired.
// It stands at Releasing or Renewing.
type DelayUntilTaken struct {
	TTLs float64 // the bound, in TTLs
}

// Name implements Fault.
func (DelayUntilTaken) Name() string { return "delay-until-taken" }

// Summary implements Fault.
func (DelayUntilTaken) Summary() string {
	return "a holder's command is on its way until the key is someone else's"
}

// Available implements Fault: every backend can play it.
func (DelayUntilTaken) Available(Target) error { return nil }

// Inject returns when somebody else holds the key, or the bound is reached.
func (f DelayUntilTaken) Inject(ctx context.Context, t Target) (result.Evidence, Heal, error) {
	x := t.Moment.Exchange
	if x == nil {
		return result.Evidence{}, nil, errNotOnTheWire
	}
	started := t.History.Now()
	// Another step at the same point may have let somebody in already.
	e, err := awaitAny(ctx, t, f.TTLs, func(e history.Event) bool {
		return e.Kind == history.WireAcquired && e.At > x.Parsed
	})
	switch {
	case ctx.Err() != nil:
		return result.Evidence{}, nil, ctx.Err()
	case err != nil:
		return proof(f, t, "%s was late by %s; nobody else was granted the key meanwhile",
			subject(x), rounded(t.History.Now()-started)), nil, nil
	}
	return proof(f, t, "%s was late by %s; meanwhile %s had granted the key to instance %d",
		subject(x), rounded(t.History.Now()-started), e.Server, e.Instance), nil, nil
}

// HoldUntilNext keeps a buyer inside its call until the next one is in, below
// the TTL. It stands at Called, behind a step that lets both in.
type HoldUntilNext struct {
	TTLs float64 // the bound, in TTLs; below 1
}

// Name implements Fault.
func (HoldUntilNext) Name() string { return "hold-until-next" }

// Summary implements Fault.
func (HoldUntilNext) Summary() string { return "a buyer stays inside until the next one is in" }

// Available implements Fault: every backend can play it.
func (HoldUntilNext) Available(Target) error { return nil }

// Inject returns when the next buyer is in, or the bound is reached.
func (f HoldUntilNext) Inject(ctx context.Context, t Target) (result.Evidence, Heal, error) {
	me, started := t.Moment.Purchase, t.History.Now()
	e, err := awaitEvent(ctx, t, f.TTLs, func(e history.Event) bool {
		return e.Kind == history.CallStart && e.Purchase != me
	})
	if ctx.Err() != nil {
		return result.Evidence{}, nil, ctx.Err()
	}
	until := "nobody else came in"
	if err == nil {
		until = fmt.Sprintf("until %s was in", history.Who(e.Purchase))
	}
	return proof(f, t, "%s was kept inside for %s: %s", history.Who(me), rounded(t.History.Now()-started), until), nil, nil
}

// awaitEvent waits for the first event that matches, at most that many TTLs.
func awaitEvent(ctx context.Context, t Target, ttls float64, match func(history.Event) bool) (history.Event, error) {
	w := t.History.Watch(match)
	defer w.Stop()
	return within(ctx, t, ttls, w)
}

// awaitAny is awaitEvent for an event that may have come already.
func awaitAny(ctx context.Context, t Target, ttls float64, match func(history.Event) bool) (history.Event, error) {
	w := t.History.Watch(match)
	defer w.Stop()
	past := t.History.Events()
	if i := slices.IndexFunc(past, match); i >= 0 {
		return past[i], nil
	}
	return within(ctx, t, ttls, w)
}

// within waits for what w looks for, at most that many TTLs.
func within(ctx context.Context, t Target, ttls float64, w *history.Watch) (history.Event, error) {
	bound, cancel := context.WithTimeout(ctx, time.Duration(ttls*float64(t.Plan.TTL)))
	defer cancel()
	return w.Wait(bound)
}

// RepeatRelease sends a release a second time once somebody else holds the key,
// as a client does that never saw the first reply. It stands at Released.
type RepeatRelease struct {
	TTLs float64 // how long to wait for somebody else, in TTLs
}

// Name implements Fault.
func (RepeatRelease) Name() string { return "repeat-release" }

// Summary implements Fault.
func (RepeatRelease) Summary() string {
	return "a release reaches the server a second time, when the key is someone else's"
}

// Available implements Fault: every backend can play it.
func (RepeatRelease) Available(Target) error { return nil }

// Inject returns when the server has executed the release again.
func (f RepeatRelease) Inject(ctx context.Context, t Target) (result.Evidence, Heal, error) {
	x := t.Moment.Exchange
	if x == nil {
		return result.Evidence{}, nil, errNotOnTheWire
	}
	e, err := awaitEvent(ctx, t, f.TTLs, func(e history.Event) bool { return e.Kind == history.CallStart })
	if err != nil {
		return result.Evidence{}, nil, errors.Join(errors.New("nobody else came in"), ctx.Err())
	}
	reply, err := resend(ctx, t, x)
	if err != nil {
		return result.Evidence{}, nil, fmt.Errorf("send the %s again: %w", x.Name, err)
	}
	t.History.Record(history.Event{
		Kind: history.WireReleased, Instance: x.Instance, Server: x.Server, Command: x.Name, Role: string(x.Role),
		Key: x.Key, Value: x.Value, Text: reply, Done: reply != "0",
	})
	return proof(f, t, "the %s of instance %d reached %s again while %s was inside; reply %q",
		x.Name, x.Instance, x.Server, history.Who(e.Purchase), reply), nil, nil
}
