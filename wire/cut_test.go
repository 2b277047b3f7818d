package wire

import (
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCutLosesBothDirectionsUntilHealed(t *testing.T) {
	t.Parallel()
	w := newTestWire(t)
	f := newFakeServer(t)
	lossy, lossyServer := dialPair(t, w, 1, f)
	quiet, quietServer := dialPair(t, w, 1, f)
	other, otherServer := dialPair(t, w, 2, f)
	lossy.send("GET k\r\n")
	lossyServer.expect("GET k\r\n")

	heal := w.Cut(1, "redis")
	lossyServer.send("$1\r\nv\r\n") // the reply is lost
	lossy.send("GET l\r\n")         // and so is what follows
	other.send("GET k\r\n")
	otherServer.expect("GET k\r\n")

	addr, err := w.Listen(1, "redis", f.up)
	require.NoError(t, err)
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err, "new connections are accepted")
	late := newTestConn(t, c)
	late.send("GET k\r\n")
	piped, err := w.Dial(testContext(t), 1, "redis", f.up)
	require.NoError(t, err)
	local := newTestConn(t, piped)
	eventually(t, "the losses", func() bool { return countLost(w) == 3 })

	heal()
	heal()
	lossy.expectEnd()
	lossyServer.expectEnd()
	late.expectEnd()
	local.expectEnd()
	quiet.send("GET k\r\n")
	quietServer.expect("GET k\r\n")
	quietServer.send("$1\r\nv\r\n")
	quiet.expect("$1\r\nv\r\n")
	fresh, freshServer := dialPair(t, w, 1, f)
	fresh.send("GET k\r\n")
	freshServer.expect("GET k\r\n")
}

func countLost(w *Wire) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for c := range w.conns {
		c.mu.Lock()
		if c.lost {
			n++
		}
		c.mu.Unlock()
	}
	return n
}

func TestOverlappingCuts(t *testing.T) {
	t.Parallel()
	w := newTestWire(t)
	f := newFakeServer(t)
	a, serverA := dialPair(t, w, 1, f)
	b, serverB := dialPair(t, w, 2, f)
	healAll := w.Cut(0, "")
	healOne := w.Cut(1, "")
	a.send("GET k\r\n")
	eventually(t, "the loss", func() bool { return countLost(w) == 1 })
	healAll()
	b.send("GET k\r\n")
	serverB.expect("GET k\r\n")
	assert.Equal(t, 1, countLost(w), "instance 1 is still cut off")
	healOne()
	a.expectEnd()
	serverA.expectEnd()
}

// TestServerEndsBehindCut: across a cut an instance doesn't learn that the
// server is gone, until the cut is healed.
func TestServerEndsBehindCut(t *testing.T) {
	t.Parallel()
	w, client, server := pair(t)
	heal := w.Cut(0, "")
	require.NoError(t, server.Close())
	eventually(t, "the server's end is lost", func() bool { return countLost(w) == 1 })
	client.send("GET k\r\n") // still open
	heal()
	client.expectEnd()
}

func TestCutWhileHeld(t *testing.T) {
	t.Parallel()
	var rules Rules
	hold := rules.Add(Match{Command: "DEL"}, Hold())
	w, client, server := pair(t, rules.Handle)
	client.send("DEL k\r\n")
	receive(t, "the hold", hold.Fired())
	heal := w.Cut(1, "")
	hold.Release()
	eventually(t, "the loss", func() bool { return countLost(w) == 1 })
	heal()
	server.expectEnd()
	client.expectEnd()
}

func TestDisconnect(t *testing.T) {
	t.Parallel()
	w := newTestWire(t)
	f := newFakeServer(t)
	a, serverA := dialPair(t, w, 1, f)
	b, serverB := dialPair(t, w, 2, f)
	require.Zero(t, w.Disconnect(1, "other"))
	a.send("GET k\r\n")
	serverA.expect("GET k\r\n")
	require.Equal(t, 1, w.Disconnect(1, "redis"))
	a.expectEnd()
	serverA.expectEnd()
	b.send("GET k\r\n")
	serverB.expect("GET k\r\n")
	require.Equal(t, 1, w.Disconnect(0, ""), "of those that are still open")
	b.expectEnd()
	serverB.expectEnd()
	again, serverAgain := dialPair(t, w, 1, f)
	again.send("GET k\r\n")
	serverAgain.expect("GET k\r\n")
}

// TestReplyBeforeTheEnd: what a server said before it closed the connection
// reaches the instance, over a socket and without one.
func TestReplyBeforeTheEnd(t *testing.T) {
	t.Parallel()
	w := newTestWire(t)
	f := newFakeServer(t)
	for range 50 {
		client, server := dialPair(t, w, 1, f)
		piped, err := w.Dial(testContext(t), 1, "redis", f.up)
		require.NoError(t, err)
		local, localServer := newTestConn(t, piped), f.accept(t)
		for c, s := range map[*testConn]*testConn{client: server, local: localServer} {
			c.send("QUIT\r\n")
			s.expect("QUIT\r\n")
			s.send("+OK\r\n")
			require.NoError(t, s.Close())
			c.expect("+OK\r\n")
			c.expectEnd()
		}
	}
}

// TestHalfClosedClient: a client that has said everything still gets its replies.
func TestHalfClosedClient(t *testing.T) {
	t.Parallel()
	_, client, server := pair(t)
	client.send("GET k\r\n")
	require.NoError(t, client.Conn.(*net.TCPConn).CloseWrite())
	server.expect("GET k\r\n")
	server.expectEnd()
	server.send("$1\r\nv\r\n")
	client.expect("$1\r\nv\r\n")
	require.NoError(t, server.Close())
	client.expectEnd()
}

func TestServerBreaksOffInsideReply(t *testing.T) {
	t.Parallel()
	seen := &recorder{}
	_, client, server := pair(t, seen.handle)
	client.send("GET k\r\n")
	server.expect("GET k\r\n")
	server.send("$10\r\nabc")
	require.NoError(t, server.Close())
	client.expect("$10\r\nabc")
	client.expectEnd()
	assert.Empty(t, seen.named(OnReply, "GET"), "it wasn't answered")
}
