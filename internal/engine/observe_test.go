package engine

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/scenarios"
	"github.com/oversell/oversell/wire"
)

// onlookers is a run of which nothing but its recorder exists, at 10 s.
func onlookers(l scenarios.Load) *run {
	clock := func() time.Duration { return 10 * time.Second }
	r := &run{plan: history.Plan{Key: "lock"}, lock: &cluster.Cluster{}, watch: newWatcher(Progress{})}
	r.job.Scenario.Load = l
	r.rec = history.NewRecorder(io.Discard, clock, r.watch.see)
	return r
}

func TestWireIsRecordedFromTheReplies(t *testing.T) {
	yes, no := wire.Reply{Type: '+', Text: "OK"}, wire.Reply{Type: '$', Nil: true}
	x := func(role wire.Role, reply wire.Reply) wire.Exchange {
		return wire.Exchange{
			Instance: 3, Server: "redis", Name: "SET", Key: "lock", Value: "v", Role: role, Reply: reply,
			Parsed: time.Second, Forwarded: 2 * time.Second, Answered: 3 * time.Second,
		}
	}
	for name, c := range map[string]struct {
		point wire.Point
		x     wire.Exchange
		kind  history.Kind // "" for nothing
	}{
		"granted":              {wire.OnReply, x(wire.Acquire, yes), history.WireAcquired},
		"refused":              {wire.OnReply, x(wire.Acquire, no), ""},
		"expiry":               {wire.OnReply, x(wire.Expire, yes), history.WireExpire},
		"renewal":              {wire.OnReply, x(wire.Renew, yes), history.WireRenewed},
		"renewal in vain":      {wire.OnReply, x(wire.Renew, no), history.WireRenewed},
		"release":              {wire.OnReply, x(wire.Release, yes), history.WireReleased},
		"something else":       {wire.OnReply, x(wire.Other, yes), ""},
		"on its way":           {wire.OnCommand, x(wire.Acquire, wire.Reply{}), ""},
		"lost acquire":         {wire.OnLost, x(wire.Acquire, wire.Reply{}), history.WireUnanswered},
		"lost release":         {wire.OnLost, x(wire.Release, wire.Reply{}), history.WireUnanswered},
		"lost something else":  {wire.OnLost, x(wire.Other, wire.Reply{}), ""},
		"lost on another key":  {wire.OnLost, wire.Exchange{Key: "x", Role: wire.Acquire}, ""},
		"reply on another key": {wire.OnReply, wire.Exchange{Key: "x", Role: wire.Release, Reply: yes}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := onlookers(scenarios.Load{})
			require.Equal(t, wire.Pass, r.onWire(t.Context(), c.point, &c.x))
			if c.kind == "" {
				require.Empty(t, r.rec.Events())
				return
			}
			want := history.Event{
				N: 1, At: c.x.Answered, Kind: c.kind, Instance: 3, Server: "redis", Command: "SET", Role: string(c.x.Role),
				Key: "lock", Value: "v", Text: c.x.Reply.Text, Done: c.x.Reply.Granted(), Took: 2 * time.Second, Away: time.Second,
			}
			if c.point == wire.OnLost {
				want.At, want.Took, want.Away = 10*time.Second, 9*time.Second, 0
			}
			require.Equal(t, []history.Event{want}, r.rec.Events())
		})
	}
}

func TestRefusedAttemptsAreCounted(t *testing.T) {
	r := onlookers(scenarios.Load{})
	for range 3 {
		r.onWire(t.Context(), wire.OnReply, &wire.Exchange{Key: "lock", Role: wire.Acquire, Reply: wire.Reply{Type: ':', Text: "0"}})
	}
	r.onWire(t.Context(), wire.OnLost, &wire.Exchange{Key: "lock", Role: wire.Acquire})
	require.EqualValues(t, 3, r.polls.Load(), "one without an answer wasn't refused")
}

func TestLingerLooksOnAfterTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		onlookers(scenarios.Load{}).linger(t.Context())
		require.Zero(t, time.Since(began))

		r := onlookers(scenarios.Load{Linger: time.Second})
		r.linger(t.Context())
		require.Equal(t, time.Second, time.Since(began))
		require.Equal(t, PhaseLingering, r.watch.glance(0).Phase)

		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		onlookers(scenarios.Load{Linger: time.Hour}).linger(ctx)
		require.Equal(t, time.Second+time.Millisecond, time.Since(began), "an interrupted run doesn't linger")
	})
}
