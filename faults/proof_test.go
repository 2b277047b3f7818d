package faults_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/wire"
)

// named is a node of which only the name matters.
type named struct{ cluster.Node }

func (named) Name() string { return "redis" }

func wired(target faults.Target) faults.Target {
	target.Wire = wire.New(target.History.Now)
	target.Cluster = &cluster.Cluster{Shape: cluster.Single, Nodes: []cluster.Node{named{}}}
	target.Moment = faults.Moment{Instance: 1, Purchase: "1.1.1"}
	return target
}

func TestNothingThatWasOpenIsNoDisconnection(t *testing.T) {
	inBubble(t, func(t *testing.T, target faults.Target) {
		ev, _, err := faults.Disconnect{}.Inject(t.Context(), wired(target))
		require.EqualError(t, err, "no connection to the lock's servers was open")
		require.Empty(t, ev.Proof)
	})
}

func TestAPartitionThatLetsAnswersThroughIsNone(t *testing.T) {
	for _, c := range []struct {
		e      history.Event
		proven bool
	}{
		{history.Event{Kind: history.WireRenewed, Instance: 1, Server: "redis", Command: "EVALSHA"}, false},
		{history.Event{Kind: history.WireRenewed, Instance: 2, Server: "redis", Command: "EVALSHA"}, true},
		{history.Event{Kind: history.WireRenewed, Instance: 1, Server: "redis", Took: time.Second}, true}, // it was on its way
		{history.Event{Kind: history.Committed, Instance: 1}, true},                                       // the inventory isn't cut off
	} {
		inBubble(t, func(t *testing.T, target faults.Target) {
			target.History.Record(history.Event{Kind: history.WireAcquired, Instance: 1, Server: "redis"})
			time.Sleep(time.Millisecond)
			target = wired(target)
			result := make(chan error, 1)
			go func() {
				_, _, err := faults.Partition{TTLs: 1}.Inject(t.Context(), target)
				result <- err
			}()
			synctest.Wait()
			time.Sleep(time.Millisecond)
			target.History.Record(c.e)
			if err := <-result; c.proven {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, "redis answered the EVALSHA of instance 1 all the same")
			}
		})
	}
}
