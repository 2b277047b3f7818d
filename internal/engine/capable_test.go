package engine

import (
	"bytes"
	"context"
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/scenarios"
)

// talking is a backend whose servers answer every command with reply.
type talking struct {
	cluster.Backend
	reply           string
	started, closed int
	fail            error
}

func (b *talking) Name() string                 { return "talking" }
func (b *talking) Real() bool                   { return true }
func (b *talking) Supports(cluster.Shape) error { return nil }

func (b *talking) Start(_ context.Context, s cluster.Spec) (*cluster.Cluster, error) {
	b.started++
	return &cluster.Cluster{
		Shape: s.Shape, Nodes: []cluster.Node{talker{reply: b.reply}},
		OnClose: func(context.Context) error { b.closed++; return nil },
	}, b.fail
}

// talker is a server of one reply.
type talker struct {
	cluster.Node
	reply string
}

func (talker) Name() string      { return "redis" }
func (talker) Announced() string { return "redis:6379" }

func (n talker) Dial(context.Context) (net.Conn, error) {
	ours, theirs := net.Pipe()
	go func() {
		defer ours.Close()
		buf := make([]byte, 4096)
		for {
			got, err := ours.Read(buf)
			if err != nil {
				return
			}
			reply := n.reply
			if bytes.Contains(bytes.ToUpper(buf[:got]), []byte("HELLO")) {
				reply = "-ERR unknown command 'HELLO'\r\n"
			}
			if _, err := ours.Write([]byte(reply)); err != nil {
				return
			}
		}
	}()
	return theirs, nil
}

func needy() Job {
	return Job{
		Scenario: scenarios.Scenario{Name: "s", Shape: cluster.Single}, Redis: "7.0",
		Kind: locks.Kind{Name: "needy", Topologies: []cluster.Shape{cluster.Single}, Needs: []cluster.Capability{cluster.TairCAS}},
	}
}

func TestWhatAServerLacksIsAskedOnceAndSkipped(t *testing.T) {
	b := &talking{reply: "-ERR unknown command 'CAS'\r\n"}
	e := New(Config{Backend: b})
	require.NoError(t, e.Available(needy()), "nobody has asked yet")
	for range 2 {
		err := e.capable(t.Context(), needy())
		require.ErrorIs(t, err, ErrUnavailable)
		require.EqualError(t, err, `scenario s, lock needy: not available here: the lock needs CAS, and the server says "CAS: ERR unknown command 'CAS'"`)
	}
	require.ErrorIs(t, e.Available(needy()), ErrUnavailable, "now it is known without asking")
	require.Equal(t, 1, b.started)
	require.Equal(t, 1, b.closed)

	other := needy()
	other.Redis = "8.0"
	require.NoError(t, e.Available(other), "another version may have it")
}

func TestWhatAServerHasIsPlayed(t *testing.T) {
	b := &talking{reply: ":-1\r\n"}
	e := New(Config{Backend: b})
	require.NoError(t, e.capable(t.Context(), needy()))
	require.NoError(t, e.capable(t.Context(), needy()))
	require.NoError(t, e.Available(needy()))
	require.Equal(t, 1, b.started)

	undemanding := needy()
	undemanding.Kind.Needs = nil
	b.fail = errors.New("no servers any more")
	require.NoError(t, e.capable(t.Context(), undemanding), "nothing is asked, nothing is started")
}

func TestAServerThatCantBeAskedIsNoAnswer(t *testing.T) {
	b := &talking{reply: ":1\r\n", fail: errors.New("it died")}
	e := New(Config{Backend: b})
	err := e.capable(t.Context(), needy())
	require.ErrorContains(t, err, "start a server to ask what it can do: it died")
	require.NotErrorIs(t, err, ErrUnavailable)
	require.Equal(t, 1, b.closed, "half a cluster is removed, too")
	b.fail = nil
	require.NoError(t, e.capable(t.Context(), needy()), "and asked again the next time")
}
