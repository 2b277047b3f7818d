package engine

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/instance"
	"github.com/oversell/oversell/result"
	"github.com/oversell/oversell/wire"
)

// noted is a fault that notes when it is injected and healed.
type noted struct {
	name string
	fail error
	hold func(ctx context.Context) // while it is injected; nil for not at all
	log  *notes
	undo bool
}

type notes struct {
	mu      sync.Mutex
	moments []faults.Moment
	healed  []string
}

func (n noted) Name() string                  { return n.name }
func (n noted) Summary() string               { return "a note" }
func (n noted) Available(faults.Target) error { return nil }

func (n noted) Inject(ctx context.Context, t faults.Target) (result.Evidence, faults.Heal, error) {
	n.log.mu.Lock()
	n.log.moments = append(n.log.moments, t.Moment)
	n.log.mu.Unlock()
	if n.hold != nil {
		n.hold(ctx)
	}
	var heal faults.Heal
	if n.undo {
		heal = func(context.Context) (string, error) {
			n.log.mu.Lock()
			defer n.log.mu.Unlock()
			n.log.healed = append(n.log.healed, n.name)
			return "healed " + n.name, nil
		}
	}
	return result.Evidence{Fault: n.name, Proof: "noted " + n.name}, heal, n.fail
}

func testStage(t *testing.T, steps ...faults.Step) (*stage, *history.Recorder) {
	rec := history.NewRecorder(io.Discard, history.Since(history.Monotonic()), nil)
	s := newStage(t.Context(), steps, faults.Target{
		Plan: history.Plan{Key: "lock", TTL: time.Second, Call: time.Microsecond}, History: rec,
	}, func(int) *instance.Host { return nil }, nil)
	return s, rec
}

func events(rec *history.Recorder, k history.Kind) []history.Event {
	var out []history.Event
	for _, e := range rec.Events() {
		if e.Kind == k {
			out = append(out, e)
		}
	}
	return out
}

func TestStageTellsPointsFromTheWire(t *testing.T) {
	var log notes
	step := func(p faults.Point) faults.Step {
		return faults.Step{When: faults.Trigger{Point: p, Every: 1}, Do: noted{name: string(p), log: &log}}
	}
	s, _ := testStage(t, step(faults.Acquired), step(faults.Renewing), step(faults.Releasing))
	granted, refused := wire.Reply{Type: '+', Text: "OK"}, wire.Reply{Type: '$', Nil: true}
	for _, c := range []struct {
		point wire.Point
		x     wire.Exchange
	}{
		{wire.OnReply, wire.Exchange{Instance: 1, Key: "lock", Role: wire.Acquire, Reply: granted}},
		{wire.OnReply, wire.Exchange{Instance: 2, Key: "lock", Role: wire.Acquire, Reply: refused}},
		{wire.OnReply, wire.Exchange{Instance: 3, Key: "another", Role: wire.Acquire, Reply: granted}},
		{wire.OnCommand, wire.Exchange{Instance: 4, Key: "lock", Role: wire.Renew}},
		{wire.OnReply, wire.Exchange{Instance: 4, Key: "lock", Role: wire.Renew, Reply: granted}},
		{wire.OnCommand, wire.Exchange{Instance: 5, Key: "lock", Role: wire.Release}},
		{wire.OnCommand, wire.Exchange{Instance: 6, Key: "lock", Role: wire.Acquire}},
		{wire.OnLost, wire.Exchange{Instance: 7, Key: "lock", Role: wire.Acquire}},
		{wire.OnLost, wire.Exchange{Instance: 8, Key: "lock", Role: wire.Renew}},
		{wire.OnLost, wire.Exchange{Instance: 9, Key: "lock", Role: wire.Release}},
		// SETNX can't set an expiry, so the first that follows is no renewal.
		{wire.OnReply, wire.Exchange{Instance: 10, Key: "lock", Role: wire.Acquire, Name: "SETNX", Reply: granted}},
		{wire.OnCommand, wire.Exchange{Instance: 10, Key: "lock", Role: wire.Expire}},
		{wire.OnCommand, wire.Exchange{Instance: 10, Key: "lock", Role: wire.Expire}},
		{wire.OnReply, wire.Exchange{Instance: 11, Key: "lock", Role: wire.Acquire, Name: "SET", Reply: granted}},
		{wire.OnCommand, wire.Exchange{Instance: 11, Key: "lock", Role: wire.Expire}},
		// Whoever was refused and releases all the same had nothing to release.
		{wire.OnReply, wire.Exchange{Instance: 12, Key: "lock", Role: wire.Acquire, Value: "b", Reply: refused}},
		{wire.OnCommand, wire.Exchange{Instance: 12, Key: "lock", Role: wire.Release, Value: "b"}},
		{wire.OnReply, wire.Exchange{Instance: 13, Key: "lock", Role: wire.Acquire, Value: "c", Reply: refused}},
		{wire.OnReply, wire.Exchange{Instance: 13, Key: "lock", Role: wire.Acquire, Value: "c", Reply: granted}},
		{wire.OnReply, wire.Exchange{Instance: 13, Key: "lock", Role: wire.Acquire, Value: "c", Reply: refused}},
		{wire.OnCommand, wire.Exchange{Instance: 13, Key: "lock", Role: wire.Release, Value: "c"}},
		{wire.OnLost, wire.Exchange{Instance: 14, Key: "lock", Role: wire.Acquire, Value: "d"}},
		{wire.OnCommand, wire.Exchange{Instance: 14, Key: "lock", Role: wire.Release, Value: "d"}},
	} {
		require.Equal(t, wire.Pass, s.onWire(t.Context(), c.point, &c.x))
	}
	var got []int
	for _, m := range log.moments {
		got = append(got, m.Instance)
	}
	require.Equal(t, []int{1, 4, 5, 10, 10, 11, 11, 13, 13, 14}, got)
}

func TestStagePlaysStepsInOrderAndAfterEachOther(t *testing.T) {
	var log notes
	s, rec := testStage(t,
		faults.Step{When: faults.Trigger{Point: faults.Releasing, Nth: 2}, Do: noted{name: "first", log: &log}},
		faults.Step{When: faults.Trigger{Point: faults.Called, After: 1}, Do: noted{name: "second", log: &log}},
		faults.Step{When: faults.Trigger{Point: faults.Called, After: 1}, Do: noted{name: "third", log: &log}},
	)
	call := func(p string) { s.onCall(t.Context(), instance.Call{Purchase: p}) }
	release := func() {
		s.onWire(t.Context(), wire.OnCommand, &wire.Exchange{Key: "lock", Role: wire.Release})
	}
	call("1.1.1") // before the first step: doesn't count
	release()
	call("1.2.1")
	release()
	call("1.3.1")
	call("1.4.1")

	var order []string
	for _, e := range events(rec, history.FaultInjected) {
		order = append(order, e.Fault+" "+e.Purchase)
	}
	require.Equal(t, []string{"first ", "second 1.3.1", "third 1.3.1"}, order)
}

func TestOvertakingIsReachedOncePerSlowedCall(t *testing.T) {
	var log notes
	entered, leave := make(chan struct{}), make(chan struct{})
	hold := func(ctx context.Context) {
		close(entered)
		<-leave
	}
	s, _ := testStage(t,
		faults.Step{When: faults.Trigger{Point: faults.Called}, Do: noted{name: "slow", log: &notes{}, hold: hold}},
		faults.Step{When: faults.Trigger{Point: faults.Overtaking, Every: 1}, Do: noted{name: "over", log: &log}},
	)
	var wg sync.WaitGroup
	wg.Go(func() { s.onCall(t.Context(), instance.Call{Purchase: "1.1.1"}) })
	<-entered
	s.onCall(t.Context(), instance.Call{Purchase: "2.1.1"})
	s.onCall(t.Context(), instance.Call{Purchase: "3.1.1"})
	close(leave)
	wg.Wait()
	s.onCall(t.Context(), instance.Call{Purchase: "4.1.1"})

	require.Len(t, log.moments, 1)
	require.Equal(t, "2.1.1", log.moments[0].Purchase)
	require.Equal(t, "1.1.1", log.moments[0].Overtaken)
}

func TestFailedFaultLeavesNoEvidence(t *testing.T) {
	var log notes
	s, rec := testStage(t, faults.Step{
		When: faults.Trigger{Point: faults.Called}, Do: noted{name: "f", log: &log, fail: errors.New("no such container")},
	})
	s.onCall(t.Context(), instance.Call{Purchase: "1.1.1"})
	require.Empty(t, events(rec, history.FaultInjected))
	failed := events(rec, history.FaultFailed)
	require.Len(t, failed, 1)
	require.Equal(t, "no such container", failed[0].Err)
	require.Equal(t, 1, failed[0].Step)
}

func TestDisabledFaultDoesNothingWhenItIsDue(t *testing.T) {
	var log notes
	step := faults.Step{When: faults.Trigger{Point: faults.Called}, Do: noted{name: "f", log: &log}}
	s, rec := testStage(t, step, step)
	s.disable = func(step int) bool { return step == 2 }
	s.onCall(t.Context(), instance.Call{Purchase: "1.1.1"})
	require.Len(t, log.moments, 1)
	require.Len(t, events(rec, history.FaultInjected), 1)
	due := events(rec, history.FaultDue)
	require.Len(t, due, 2)
	require.Equal(t, "1.1.1", due[1].Purchase)
	require.Equal(t, 2, due[1].Step)
}

func TestHealsNewestFirstAtTheEndAndSoonerWhenAsked(t *testing.T) {
	var log notes
	step := func(name string, after time.Duration) faults.Step {
		return faults.Step{
			When: faults.Trigger{Point: faults.Called}, For: after,
			Do: noted{name: name, log: &log, undo: true},
		}
	}
	s, rec := testStage(t, step("a", 0), step("b", 0), step("soon", time.Millisecond))
	soon := rec.Watch(func(e history.Event) bool { return e.Kind == history.FaultHealed })
	defer soon.Stop()
	s.onCall(t.Context(), instance.Call{Purchase: "1.1.1"})
	e, err := soon.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, "soon", e.Fault, "without the load having ended")
	s.healAll(t.Context())
	require.Equal(t, []string{"soon", "b", "a"}, log.healed)
}

func TestTimedStepIsPlayedAtItsTime(t *testing.T) {
	var log notes
	s, rec := testStage(t, faults.Step{When: faults.Trigger{At: time.Millisecond}, Do: noted{name: "timed", log: &log}})
	w := rec.Watch(func(e history.Event) bool { return e.Kind == history.FaultInjected })
	defer w.Stop()
	s.playTimed(t.Context())
	e, err := w.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, "timed", e.Fault)
	s.healAll(t.Context())
}

func TestInjectionKeepsTheRunBusy(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	hold := func(context.Context) {
		close(entered)
		<-leave
	}
	s, _ := testStage(t, faults.Step{When: faults.Trigger{Point: faults.Called}, Do: noted{name: "f", log: &notes{}, hold: hold}})
	var wg sync.WaitGroup
	wg.Go(func() { s.onCall(t.Context(), instance.Call{Purchase: "1.1.1"}) })
	<-entered
	_, idle := s.idleSince()
	require.False(t, idle, "a fault that is being injected is no stall")
	close(leave)
	wg.Wait()
	_, idle = s.idleSince()
	require.True(t, idle)
}

func TestPlannedHealingKeepsTheRunBusy(t *testing.T) {
	s, _ := testStage(t, faults.Step{When: faults.Trigger{Point: faults.Called}, For: time.Millisecond})
	mending, mended := make(chan struct{}), make(chan struct{})
	s.later(0, "down", func(context.Context) (string, error) {
		close(mending)
		<-mended
		return "up", nil
	})
	<-mending
	_, idle := s.idleSince()
	require.False(t, idle, "a server that is on its way back is no stall")
	close(mended)
	s.healAll(t.Context())
	_, idle = s.idleSince()
	require.True(t, idle, "healed, the run can stall again")
}
