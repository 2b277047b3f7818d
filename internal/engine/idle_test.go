package engine

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/scenarios"
)

func TestIdleServersGoToWhoWantsSuchOnes(t *testing.T) {
	var i idle
	closed := 0
	of := func(s cluster.Shape, err error) *cluster.Cluster {
		return &cluster.Cluster{Shape: s, OnClose: func(context.Context) error { closed++; return err }}
	}
	seven, eight := of(cluster.Single, nil), of(cluster.Single, errors.New("it stays"))
	i.put("7.0", seven)
	i.put("8.0", eight)
	require.Nil(t, i.take("6.0", cluster.Single))
	require.Nil(t, i.take("7.0", cluster.Quorum))
	require.Same(t, seven, i.take("7.0", cluster.Single))
	require.Nil(t, i.take("7.0", cluster.Single), "nobody else gets it")
	require.EqualError(t, i.close(t.Context()), "it stays")
	require.Equal(t, 1, closed, "who has taken servers closes them")
	require.NoError(t, i.close(t.Context()), "once")
}

func TestOnlyServersThatWereSparedAreUsedAgain(t *testing.T) {
	of := func(reuse bool, s cluster.Shape, does ...faults.Fault) *run {
		r := &run{e: New(Config{Backend: &talking{}, Reuse: reuse}), job: Job{Scenario: scenarios.Scenario{Shape: s}}}
		for _, f := range does {
			r.job.Scenario.Steps = append(r.job.Scenario.Steps, faults.Step{Do: f})
		}
		return r
	}
	require.True(t, of(true, cluster.Single, faults.SlowCall{}, faults.Flush{}).sparing())
	require.False(t, of(false, cluster.Single, faults.SlowCall{}).sparing(), "not unless it is wanted")
	require.True(t, of(true, cluster.Quorum, faults.RestartServer{}).sparing())
	require.True(t, of(true, cluster.Sentinel, faults.KillMaster{}).sparing(), "they get their roles back")
	for _, f := range []faults.Fault{faults.CutReplication{}, faults.KillMaster{}, faults.Failover{}} {
		require.False(t, of(true, cluster.Single, faults.SlowCall{}, f).sparing(), f.Name())
	}
}

func TestServersMustAnswerAfterTheLoad(t *testing.T) {
	health := func(done ...bool) *run {
		r := &run{rec: history.NewRecorder(io.Discard, history.Since(history.Monotonic()), nil)}
		r.rec.Record(history.Event{Kind: history.ServerHealth, Phase: "before", Done: true})
		for _, d := range done {
			r.rec.Record(history.Event{Kind: history.ServerHealth, Phase: "after", Done: d})
		}
		return r
	}
	require.True(t, health(true, true).healthy())
	require.False(t, health(true, false).healthy())
	require.False(t, health().healthy(), "nobody has asked")
}

func TestAnUnfinishedRunLeavesNoServers(t *testing.T) {
	r := &run{e: New(Config{Backend: &talking{}, Reuse: true}), job: Job{Scenario: scenarios.Scenario{Shape: cluster.Single}}}
	r.lock = &cluster.Cluster{Shape: cluster.Single}
	require.False(t, r.handOver(t.Context()))
	require.Nil(t, r.e.idle.take("", cluster.Single))
}
