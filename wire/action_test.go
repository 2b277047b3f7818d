package wire

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// on is a handler that takes an action at one point of one command.
func on(p Point, name string, a Action) Handler {
	return func(_ context.Context, at Point, x *Exchange) Action {
		if at == p && x.Name == name {
			return a
		}
		return Pass
	}
}

func TestPassAtBothPoints(t *testing.T) {
	t.Parallel()
	for _, p := range []Point{OnCommand, OnReply} {
		_, client, server := pair(t, on(p, "GET", Pass))
		client.send("GET k\r\n")
		server.expect("GET k\r\n")
		server.send("$1\r\nv\r\n")
		client.expect("$1\r\nv\r\n")
	}
}

func TestDropCommand(t *testing.T) {
	t.Parallel()
	_, client, server := pair(t, on(OnCommand, "DEL", Drop))
	client.send("GET k\r\nDEL k\r\nGET l\r\n")
	server.expect("GET k\r\n")
	server.send("$1\r\nv\r\n")
	client.send("GET m\r\n")
	require.NoError(t, client.Close())
	server.expectEnd() // neither DEL nor what came after it
}

func TestDropCommandLosesEarlierRepliesToo(t *testing.T) {
	t.Parallel()
	w, client, server := pair(t, on(OnCommand, "DEL", Drop))
	client.send("GET k\r\nDEL k\r\n")
	server.expect("GET k\r\n")
	eventually(t, "the drop", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		for c := range w.conns {
			return !c.passes()
		}
		return false
	})
	server.send("$1\r\nv\r\n")
	require.NoError(t, server.Close())
	client.expectEnd()
}

func TestDropReply(t *testing.T) {
	t.Parallel()
	_, client, server := pair(t, on(OnReply, "SETNX", Drop))
	client.send("GET k\r\nSETNX k v\r\n")
	server.expect("GET k\r\nSETNX k v\r\n")
	server.send("$-1\r\n:1\r\n+LATE\r\n")
	client.expect("$-1\r\n")
	require.NoError(t, server.Close())
	client.expectEnd() // neither the reply nor what came after it
}

func TestDuplicateCommand(t *testing.T) {
	t.Parallel()
	seen := &recorder{}
	_, client, server := pair(t, seen.handle, on(OnCommand, "INCR", Duplicate))
	client.send("INCR n\r\nGET n\r\n")
	server.expect("INCR n\r\nINCR n\r\nGET n\r\n")
	server.send(":1\r\n:2\r\n$1\r\n2\r\n")
	client.expect(":1\r\n$1\r\n2\r\n")
	require.Len(t, seen.named(OnReply, "INCR"), 1)
	assert.Equal(t, "1", seen.named(OnReply, "INCR")[0].Reply.Text)
}

func TestDuplicateSubscribe(t *testing.T) {
	t.Parallel()
	_, client, server := pair(t, on(OnCommand, "SUBSCRIBE", Duplicate))
	client.send("SUBSCRIBE a b\r\nPING\r\n")
	server.expect("SUBSCRIBE a b\r\nSUBSCRIBE a b\r\nPING\r\n")
	a, b := "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n", "*3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n"
	server.send(a + b + a + b + "*2\r\n$4\r\npong\r\n$0\r\n\r\n")
	client.expect(a + b + "*2\r\n$4\r\npong\r\n$0\r\n\r\n")
}

func TestDuplicateOfWhatGetsNoReply(t *testing.T) {
	t.Parallel()
	_, client, server := pair(t, on(OnCommand, "INCR", Duplicate))
	client.send("CLIENT REPLY OFF\r\nINCR n\r\nCLIENT REPLY ON\r\n")
	server.expect("CLIENT REPLY OFF\r\nINCR n\r\nINCR n\r\nCLIENT REPLY ON\r\n")
	server.send("+OK\r\n")
	client.expect("+OK\r\n")
}

func TestDuplicateAtReplyPasses(t *testing.T) {
	t.Parallel()
	_, client, server := pair(t, on(OnReply, "INCR", Duplicate))
	client.send("INCR n\r\n")
	server.expect("INCR n\r\n")
	server.send(":1\r\n+NEXT\r\n")
	client.expect(":1\r\n+NEXT\r\n")
}

func TestCutAtCommand(t *testing.T) {
	t.Parallel()
	_, client, server := pair(t, on(OnCommand, "DEL", Cut))
	client.send("GET k\r\nDEL k\r\n")
	server.expect("GET k\r\n")
	server.expectEnd()
	client.expectEnd()
}

func TestCutAtReply(t *testing.T) {
	t.Parallel()
	_, client, server := pair(t, on(OnReply, "SETNX", Cut))
	client.send("SETNX k v\r\n")
	server.expect("SETNX k v\r\n")
	server.send(":1\r\n")
	client.expectEnd()
	server.expectEnd()
}

func TestFirstActionOtherThanPassCounts(t *testing.T) {
	t.Parallel()
	seen := &recorder{}
	_, client, server := pair(t, on(OnCommand, "DEL", Pass), on(OnCommand, "DEL", Cut), seen.handle)
	client.send("GET k\r\nDEL k\r\n")
	server.expect("GET k\r\n")
	client.expectEnd()
	assert.Len(t, seen.named(OnCommand, "GET"), 1)
	assert.Empty(t, seen.named(OnCommand, "DEL"))
}

// TestHeldCommandHoldsOnlyItsConnection: what came before it on its connection
// is executed and answered, other connections go on, and it is executed last.
func TestHeldCommandHoldsOnlyItsConnection(t *testing.T) {
	t.Parallel()
	held, release := make(chan struct{}), make(chan struct{})
	w := newTestWire(t, func(ctx context.Context, p Point, x *Exchange) Action {
		if p == OnCommand && x.Name == "DEL" {
			close(held)
			select {
			case <-release:
			case <-ctx.Done():
			}
		}
		return Pass
	})
	f := newFakeServer(t)
	a, serverA := dialPair(t, w, 1, f)
	b, serverB := dialPair(t, w, 2, f)

	a.send("GET k\r\nDEL k\r\nGET l\r\n")
	receive(t, "the hold", held)
	serverA.expect("GET k\r\n")
	serverA.send("$1\r\nv\r\n")
	a.expect("$1\r\nv\r\n")
	for range 100 {
		b.send("SETNX k v\r\n")
		serverB.expect("SETNX k v\r\n")
		serverB.send(":0\r\n")
		b.expect(":0\r\n")
	}
	close(release)
	serverA.expect("DEL k\r\nGET l\r\n")
}

// TestHeldCommandOutlivesItsClient: a command that was under way when its
// sender died still reaches the server.
func TestHeldCommandOutlivesItsClient(t *testing.T) {
	t.Parallel()
	var rules Rules
	hold := rules.Add(Match{Command: "DEL"}, Hold())
	_, client, server := pair(t, rules.Handle)
	client.send("DEL k\r\n")
	receive(t, "the hold", hold.Fired())
	require.NoError(t, client.Close())
	hold.Release()
	server.expect("DEL k\r\n")
	server.expectEnd()
}

func TestHeldReplyLetsCommandsThrough(t *testing.T) {
	t.Parallel()
	var rules Rules
	hold := rules.Add(Match{Command: "SETNX", Point: OnReply}, Hold())
	_, client, server := pair(t, rules.Handle)
	client.send("SETNX k v\r\n")
	server.expect("SETNX k v\r\n")
	server.send(":1\r\n")
	x := receive(t, "the hold", hold.Fired())
	assert.True(t, x.Reply.Granted())
	client.send("GET k\r\n")
	server.expect("GET k\r\n")
	server.send("$1\r\nv\r\n")
	hold.Release()
	client.expect(":1\r\n$1\r\nv\r\n")
}
