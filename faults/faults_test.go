package faults_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
	"github.com/oversell/oversell/wire"
)

const ttl = time.Second

// inBubble runs f on a fake clock, with a target whose history is stamped by it.
func inBubble(t *testing.T, f func(t *testing.T, target faults.Target)) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		rec := history.NewRecorder(io.Discard, func() time.Duration { return time.Since(start) + 1 }, nil)
		f(t, faults.Target{Plan: history.Plan{TTL: ttl, Key: "lock"}, History: rec})
	})
}

func inject(t *testing.T, f faults.Fault, target faults.Target) (<-chan result.Evidence, func() time.Duration) {
	start, took := time.Now(), time.Duration(0)
	proof := make(chan result.Evidence, 1)
	go func() {
		ev, heal, err := f.Inject(t.Context(), target)
		if err == nil && heal == nil {
			took = time.Since(start)
			proof <- ev
		}
		close(proof)
	}()
	synctest.Wait()
	return proof, func() time.Duration { return took }
}

func TestSlowCallLastsAMultipleOfTheTTL(t *testing.T) {
	inBubble(t, func(t *testing.T, target faults.Target) {
		target.Moment.Purchase = "1.2.3"
		proof, took := inject(t, faults.SlowCall{TTLs: 1.5}, target)
		ev := <-proof
		require.Equal(t, ttl*3/2, took())
		require.Equal(t, "slow-call", ev.Fault)
		require.Equal(t, "the call of instance 1, buyer 2 took 1.5s, 1.5 times the TTL of 1s", ev.Proof)
		require.EqualValues(t, 1500, ev.AtMS)
	})
}

func TestSlowCallIsGivenUpByItsHolder(t *testing.T) {
	inBubble(t, func(t *testing.T, target faults.Target) {
		target.Moment.Purchase = "1.2.3"
		proof, took := inject(t, faults.SlowCall{TTLs: 3}, target)
		time.Sleep(ttl / 2)
		target.History.Record(history.Event{Kind: history.CallEnd, Purchase: "2.1.1"})
		time.Sleep(ttl)
		target.History.Record(history.Event{Kind: history.CallEnd, Purchase: "1.2.3"})
		ev := <-proof
		require.Equal(t, ttl*3/2, took())
		require.Equal(t, "the call of instance 1, buyer 2 was given up after 1.5s, 1.5 times the TTL of 1s", ev.Proof)
	})
}

func TestFaultsEndWithTheirContext(t *testing.T) {
	for _, f := range []faults.Fault{faults.SlowCall{TTLs: 1}, faults.HoldOvertaker{TTLs: 0.9}, faults.Outlast{Sales: 1}} {
		inBubble(t, func(t *testing.T, target faults.Target) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			ev, _, err := f.Inject(ctx, target)
			require.ErrorIs(t, err, context.DeadlineExceeded, f.Name())
			require.Empty(t, ev.Proof, "what didn't happen isn't proven")
		})
	}
}

func TestOvertakerStaysUntilTheThirdIsIn(t *testing.T) {
	inBubble(t, func(t *testing.T, target faults.Target) {
		target.Moment = faults.Moment{Purchase: "2.1.1", Overtaken: "1.1.1"}
		proof, took := inject(t, faults.HoldOvertaker{TTLs: 0.9}, target)
		for _, e := range []history.Event{
			{Kind: history.CallStart, Purchase: "early"}, // before the slow one has released
			{Kind: history.Released, Purchase: "another"},
			{Kind: history.Released, Purchase: "1.1.1"},
		} {
			target.History.Record(e)
			synctest.Wait()
			require.Empty(t, proof, "after %+v", e)
		}
		time.Sleep(ttl / 10)
		target.History.Record(history.Event{Kind: history.CallStart, Purchase: "3.1.1"})
		require.Equal(t, "instance 2, buyer 1 overtook instance 1, buyer 1 and was kept inside for 100ms: until instance 1, buyer 1 had released and instance 3, buyer 1 was in", (<-proof).Proof)
		require.Equal(t, ttl/10, took())
	})
}

func TestOvertakerLeavesBeforeItsOwnTTL(t *testing.T) {
	inBubble(t, func(t *testing.T, target faults.Target) {
		target.Moment = faults.Moment{Purchase: "2.1.1", Overtaken: "1.1.1"}
		proof, took := inject(t, faults.HoldOvertaker{TTLs: 0.9}, target)
		require.Contains(t, (<-proof).Proof, "no third buyer came in")
		require.Equal(t, ttl*9/10, took())
	})
}

func TestOutlastWaitsForOthersSales(t *testing.T) {
	inBubble(t, func(t *testing.T, target faults.Target) {
		target.Moment.Purchase = "1.1.1"
		proof, _ := inject(t, faults.Outlast{Sales: 2}, target)
		for _, p := range []string{"1.1.1", "2.1.1"} { // its own doesn't count
			target.History.Record(history.Event{Kind: history.Committed, Purchase: p, Units: 9})
			synctest.Wait()
			require.Empty(t, proof)
		}
		target.History.Record(history.Event{Kind: history.Committed, Purchase: "3.1.1", Units: 8})
		require.Contains(t, (<-proof).Proof, "others sold 2 units meanwhile")
	})
}

// When the last unit is sold, or was before, there is nothing to wait for.
func TestOutlastEndsWhenAllIsSold(t *testing.T) {
	inBubble(t, func(t *testing.T, target faults.Target) {
		target.Moment.Purchase = "1.1.1"
		proof, _ := inject(t, faults.Outlast{Sales: 3}, target)
		target.History.Record(history.Event{Kind: history.Committed, Purchase: "2.1.1", Units: 0})
		require.Contains(t, (<-proof).Proof, "others sold all that was left")
		proof, took := inject(t, faults.Outlast{Sales: 3}, target)
		require.Contains(t, (<-proof).Proof, "others sold all that was left")
		require.Zero(t, took())
	})
}

func TestOutlastEndsBeforeTheTTLWhenTheLockHolds(t *testing.T) {
	inBubble(t, func(t *testing.T, target faults.Target) {
		proof, took := inject(t, faults.Outlast{Sales: 1}, target)
		require.Contains(t, (<-proof).Proof, "the lock let nobody else sell meanwhile")
		require.Equal(t, ttl*9/10, took())
	})
}

// dying is an instance that can be killed, or not.
type dying struct{ err error }

func (d dying) Pause(context.Context) error          { return d.err }
func (d dying) Resume(context.Context) error         { return d.err }
func (d dying) Cancel()                              {}
func (d dying) ID() int                              { return 3 }
func (d dying) Real() bool                           { return true }
func (d dying) Kill(context.Context) (string, error) { return "pid 4711: signal: killed", d.err }

func TestKillInstanceProvesWhatTheInstanceNeverHeard(t *testing.T) {
	inBubble(t, func(t *testing.T, target faults.Target) {
		target.Real = true
		require.NoError(t, faults.KillInstance{}.Available(target))
		target.Instance = dying{}
		target.Moment = faults.Moment{Instance: 3, Exchange: &wire.Exchange{Name: "SETNX", Server: "redis", Reply: wire.Reply{Text: "1"}}}
		ev, heal, err := faults.KillInstance{}.Inject(t.Context(), target)
		require.NoError(t, err)
		require.Nil(t, heal)
		require.Equal(t, `instance 3, pid 4711: signal: killed; the reply "1" to its SETNX had left redis and never reached it`, ev.Proof)

		target.Instance = dying{errors.New("operation not permitted")}
		_, _, err = faults.KillInstance{}.Inject(t.Context(), target)
		require.ErrorContains(t, err, "operation not permitted")
	})
}

func TestFaultsSayWhyTheyArentAvailable(t *testing.T) {
	single := &cluster.Cluster{Backend: "process", Shape: cluster.Single}
	require.ErrorContains(t, faults.KillInstance{}.Available(faults.Target{}), "real processes")
	require.ErrorContains(t, faults.CutReplication{}.Available(faults.Target{Cluster: single}), "master with replicas")
	require.ErrorContains(t, faults.KillMaster{}.Available(faults.Target{Cluster: single}), "master with replicas")
	require.NoError(t, faults.SlowCall{TTLs: 1.5}.Available(faults.Target{Cluster: single}))
}
