package wire

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lostNames are the commands that were told as lost, in order.
func (r *recorder) lostNames() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for i, x := range r.seen {
		if r.at[i] == OnLost {
			names = append(names, x.Name)
		}
	}
	return names
}

func TestLostWithTheConnection(t *testing.T) {
	t.Parallel()
	seen := &recorder{}
	_, client, server := pair(t, seen.handle)
	client.send("GET k\r\nSET k v NX\r\nDEL k\r\n")
	server.expect("GET k\r\nSET k v NX\r\nDEL k\r\n")
	server.send("$-1\r\n")
	client.expect("$-1\r\n")
	assert.Empty(t, seen.lostNames(), "their replies may still come")
	require.NoError(t, server.Close())
	eventually(t, "the losses", func() bool { return len(seen.lostNames()) == 2 })
	assert.Equal(t, []string{"SET", "DEL"}, seen.lostNames(), "what was answered isn't lost")
	x := seen.named(OnLost, "SET")[0]
	assert.Equal(t, Acquire, x.Role)
	assert.Equal(t, "k", x.Key)
	assert.Equal(t, "v", x.Value)
	assert.Positive(t, x.Forwarded)
	assert.Zero(t, x.Answered)
	assert.Equal(t, Reply{}, x.Reply)
	assert.Empty(t, seen.named(OnReply, "SET"))
}

func TestReplyThatComesAfterTheClientHasGoneIsNotLost(t *testing.T) {
	t.Parallel()
	seen := &recorder{}
	_, client, server := pair(t, seen.handle)
	client.send("SET k v NX\r\n")
	server.expect("SET k v NX\r\n")
	require.NoError(t, client.Close())
	server.expectEnd()
	server.send("+OK\r\n")
	eventually(t, "the reply", func() bool { return len(seen.named(OnReply, "SET")) == 1 })
	require.NoError(t, server.Close())
	assert.Empty(t, seen.lostNames())
}

func TestLostInACut(t *testing.T) {
	t.Parallel()
	seen := &recorder{}
	w, client, server := pair(t, seen.handle)
	client.send("SET k v NX\r\n")
	server.expect("SET k v NX\r\n")
	heal := w.Cut(1, "redis")
	client.send("DEL k\r\n") // never leaves the wire
	server.send("+OK\r\n")
	eventually(t, "the loss", func() bool { return len(seen.lostNames()) == 1 })
	heal()
	client.expectEnd()
	server.expectEnd()
	assert.Equal(t, []string{"SET"}, seen.lostNames(), "once, and nothing that wasn't sent on")
}

func TestNeverSentOnIsNotLost(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]Action{"dropped": Drop, "cut": Cut} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := &recorder{}
			w, client, server := pair(t, seen.handle, on(OnCommand, "DEL", a))
			client.send("GET k\r\nDEL k\r\nGET l\r\n")
			if a == Drop {
				server.expect("GET k\r\n")
				require.NoError(t, client.Close())
			}
			server.drain()
			require.NoError(t, server.Close())
			eventually(t, "the connection's end", func() bool { return openConns(w) == 0 })
			for _, lost := range seen.lostNames() {
				assert.Equal(t, "GET", lost)
			}
			assert.LessOrEqual(t, len(seen.lostNames()), 1, "the second GET never left the wire")
		})
	}
}

func TestHeldCommandOfACutIsNotLost(t *testing.T) {
	t.Parallel()
	seen := &recorder{}
	held, goOn := make(chan struct{}), make(chan struct{})
	hold := func(ctx context.Context, p Point, x *Exchange) Action {
		if p == OnCommand && x.Name == "DEL" {
			close(held)
			select {
			case <-goOn:
			case <-ctx.Done():
			}
		}
		return Pass
	}
	w, client, server := pair(t, seen.handle, hold)
	client.send("DEL k\r\n")
	receive(t, "the hold", held)
	heal := w.Cut(1, "redis")
	close(goOn)
	eventually(t, "the loss", func() bool { return countLost(w) == 1 })
	heal()
	server.expectEnd()
	client.expectEnd()
	eventually(t, "the connection's end", func() bool { return openConns(w) == 0 })
	assert.Empty(t, seen.lostNames())
}

func TestDroppedReplyIsKnownAndWhatFollowsIsLost(t *testing.T) {
	t.Parallel()
	seen := &recorder{}
	_, client, server := pair(t, seen.handle, on(OnReply, "SETNX", Drop))
	client.send("SETNX k v\r\nGET k\r\n")
	server.expect("SETNX k v\r\nGET k\r\n")
	server.send(":1\r\n$1\r\nv\r\n")
	eventually(t, "the loss", func() bool { return len(seen.lostNames()) == 1 })
	assert.Equal(t, []string{"GET"}, seen.lostNames())
	assert.Len(t, seen.named(OnReply, "SETNX"), 1)
	require.NoError(t, server.Close())
	client.expectEnd()
}

func TestSecondSendingIsNotLost(t *testing.T) {
	t.Parallel()
	seen := &recorder{}
	w, client, server := pair(t, seen.handle, on(OnCommand, "INCR", Duplicate))
	client.send("INCR n\r\n")
	server.expect("INCR n\r\nINCR n\r\n")
	server.send(":1\r\n")
	client.expect(":1\r\n")
	require.NoError(t, server.Close())
	eventually(t, "the connection's end", func() bool { return openConns(w) == 0 })
	assert.Empty(t, seen.lostNames(), "the instance doesn't know of it")
}

func TestClosingTheWireTellsNobody(t *testing.T) {
	t.Parallel()
	seen := &recorder{}
	w, client, server := pair(t, seen.handle)
	client.send("SET k v NX\r\n")
	server.expect("SET k v NX\r\n")
	require.NoError(t, w.Close())
	client.expectEnd()
	assert.Empty(t, seen.lostNames())
}

func openConns(w *Wire) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.conns)
}

// drain reads to the end of the connection.
func (c *testConn) drain() {
	for {
		if _, err := c.r.ReadByte(); err != nil {
			return
		}
	}
}
