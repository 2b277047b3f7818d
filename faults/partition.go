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

// Partition cuts the instance that reached the trigger's point off from every
// server of the lock, for some TTLs and at least until others have sold. Its
// call goes on meanwhile. The inventory stays within reach.
type Partition struct {
	TTLs  float64
	Sales int // how many units others sell meanwhile; 0 waits for none
}

// Name implements Fault.
func (Partition) Name() string { return "partition" }

// Summary implements Fault.
func (Partition) Summary() string {
	return "the holder can't reach the lock's servers, in either direction"
}

// Available implements Fault: every backend can play it.
func (Partition) Available(Target) error { return nil }

// Inject returns when the instance is connected again.
func (f Partition) Inject(ctx context.Context, t Target) (result.Evidence, Heal, error) {
	sales := t.watchSales(f.Sales)
	defer sales.Stop()
	for _, n := range t.Cluster.Nodes {
		defer t.Wire.Cut(t.Moment.Instance, n.Name())()
	}
	started := t.History.Now()
	sold, err := sales.during(ctx, time.Duration(f.TTLs*float64(t.Plan.TTL)))
	if err != nil {
		return result.Evidence{}, nil, err
	}
	took := t.History.Now() - started
	if e := t.answered(started); e != nil {
		return result.Evidence{}, nil, fmt.Errorf("%s answered the %s of instance %d all the same", e.Server, e.Command, e.Instance)
	}
	if f.Sales > 0 {
		sold = "; " + sold
	}
	return proof(f, t, "instance %d, with %s inside, lost every byte to and from the lock's servers for %s, %.1f times the TTL of %s%s",
		t.Moment.Instance, history.Who(t.Moment.Purchase), rounded(took),
		took.Seconds()/t.Plan.TTL.Seconds(), t.Plan.TTL, sold), nil, nil
}

// answered returns the answer to a command about the lock's key that the moment's
// instance has sent since that time, nil when there is none.
func (t Target) answered(since time.Duration) *history.Event {
	answers := []history.Kind{history.WireAcquired, history.WireExpire, history.WireRenewed, history.WireReleased}
	for _, e := range t.History.Events() {
		if e.Instance == t.Moment.Instance && e.At-e.Took > since && slices.Contains(answers, e.Kind) {
			return &e
		}
	}
	return nil
}

// Disconnect breaks every connection between the instances and the lock's
// servers at once, when most of them wait for an answer: what isn't in use when
// it breaks is made anew without anybody noticing. They can connect again.
type Disconnect struct{}

// Name implements Fault.
func (Disconnect) Name() string { return "disconnect" }

// Summary implements Fault.
func (Disconnect) Summary() string { return "every connection to the lock's servers breaks at once" }

// Available implements Fault: every backend can play it.
func (Disconnect) Available(Target) error { return nil }

// Inject loses what is sent for two pauses of those who wait, and returns when
// the connections are closed. That of the command that stands at the trigger's
// point is among those.
func (f Disconnect) Inject(ctx context.Context, t Target) (result.Evidence, Heal, error) {
	for _, n := range t.Cluster.Nodes {
		defer t.Wire.Cut(0, n.Name())()
	}
	if err := wait(ctx, 2*t.Plan.RetryEvery); err != nil {
		return result.Evidence{}, nil, err
	}
	closed := 0
	for _, n := range t.Cluster.Nodes {
		closed += t.Wire.Disconnect(0, n.Name())
	}
	if closed == 0 {
		return result.Evidence{}, nil, errors.New("no connection to the lock's servers was open")
	}
	return proof(f, t, "every connection to the lock's servers was closed, %d of them", closed), nil, nil
}
