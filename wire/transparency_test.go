package wire

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oversell/oversell/history"
)

// TestBytesPassUnchanged: whatever a client and a server say to each other, in
// whatever pieces, each receives exactly what the other sent. That holds for
// commands and replies, for what only looks like them, and for plain noise,
// which the wire notes.
func TestBytesPassUnchanged(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t)
	rapid.Check(t, func(rt *rapid.T) {
		w := New(history.Since(0), func(_ context.Context, _ Point, x *Exchange) Action {
			_ = x.Clone().Reply.Granted()
			return Pass
		})
		defer w.Close()
		down := strings.Join(rapid.SliceOf(rapid.OneOf(replyBytes(), noise())).Draw(rt, "replies"), "")
		if rapid.Bool().Draw(rt, "dial") {
			up := strings.Join(rapid.SliceOf(commandBytes()).Draw(rt, "commands"), "")
			client, err := w.Dial(testContext(t), 1, "redis", f.up)
			require.NoError(rt, err)
			exchangeBytes(rt, client, receive(t, "the server's end", f.conns), up, down)
			return
		}
		up := strings.Join(rapid.SliceOf(rapid.OneOf(commandBytes(), noise())).Draw(rt, "commands"), "")
		addr, err := w.Listen(1, "redis", f.up)
		require.NoError(rt, err)
		client, err := net.Dial("tcp", addr)
		require.NoError(rt, err)
		exchangeBytes(rt, client, receive(t, "the server's end", f.conns), up, down)
	})
}

// exchangeBytes sends up from the client and down from the server, both at
// once and in pieces, and compares what arrives. A client that can end its
// direction alone does, so that an unfinished command gets through too.
func exchangeBytes(rt *rapid.T, client, server net.Conn, up, down string) {
	defer client.Close()
	defer server.Close()
	require.NoError(rt, client.SetDeadline(time.Now().Add(patience)))
	require.NoError(rt, server.SetDeadline(time.Now().Add(patience)))
	upPieces, downPieces := pieces(rt, "up", up), pieces(rt, "down", down)
	var gotUp, gotDown []byte
	var both, all sync.WaitGroup
	both.Go(func() {
		sendPieces(client, upPieces)
		if tcp, ok := client.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
	})
	both.Go(func() { sendPieces(server, downPieces) })
	both.Go(func() { gotUp = readN(server, len(up)) })
	all.Go(func() { gotDown, _ = io.ReadAll(client) })
	both.Wait()
	server.Close()
	all.Wait()
	require.Equal(rt, up, string(gotUp))
	require.Equal(rt, down, string(gotDown))
}

func pieces(rt *rapid.T, label, s string) []string {
	var list []string
	for _, n := range rapid.SliceOf(rapid.IntRange(1, 40)).Draw(rt, label) {
		n = min(n, len(s))
		list = append(list, s[:n])
		s = s[n:]
	}
	return append(list, s)
}

func sendPieces(c net.Conn, pieces []string) {
	for _, p := range pieces {
		if _, err := io.WriteString(c, p); err != nil {
			return
		}
	}
}

func readN(c net.Conn, n int) []byte {
	b := make([]byte, n)
	n, _ = io.ReadFull(c, b)
	return b[:n]
}

func commandBytes() *rapid.Generator[string] {
	array := rapid.Custom(func(t *rapid.T) string {
		name := rapid.SampledFrom([]string{"get", "SETNX", "set", "MULTI", "EXEC", "SUBSCRIBE", "unsubscribe", "MONITOR",
			"EVAL", "FCALL", "HELLO", "RESET", "CLIENT", "XREAD", "FUNCTION", "SCRIPT"}).Draw(t, "name")
		args := rapid.SliceOfN(rapid.OneOf(
			rapid.SampledFrom([]string{"3", "LOAD", "REPLY", "OFF", "SKIP", "NX", "GET", "-1", "streams"}),
			rapid.StringN(0, 20, 60)), 0, 6).Draw(t, "args")
		return bulks("*", append([]string{name}, args...)...)
	})
	inline := rapid.StringMatching(`[a-z"'\\$ ]{0,12}\r?\n`)
	return rapid.OneOf(array, inline, rapid.Just("*0\r\n"))
}

func replyBytes() *rapid.Generator[string] { return rapid.SampledFrom(frames) }

func noise() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return string(rapid.SliceOfN(rapid.SampledFrom([]byte("*$+-:%~>|?;.\r\n0129 x\x00\xff")), 0, 8).Draw(t, "noise"))
	})
}

// TestWhatIsNotRESPIsNoted: bytes that can't be read pass, and Err says so.
func TestWhatIsNotRESPIsNoted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ up, down, want string }{
		{"*1\r\n!3\r\nGET\r\n", "-ERR Protocol error\r\n", "read commands on connection 1 of instance 1 to redis: not RESP"},
		{"*1\r\n$-2\r\n", "-ERR Protocol error\r\n", "a command with an impossible length"},
		{"*1\r\n$-9000\r\n", "-ERR Protocol error\r\n", "a command with an impossible length"},
		{strings.Repeat("x", maxInline+1), "-ERR too big\r\n", "a line of more than"},
		{"PING\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n", "read replies on connection 1 of instance 1 to redis: not RESP: unknown type 'H'"},
	} {
		w := New(history.Since(0))
		f := newFakeServer(t)
		client, server := dialPair(t, w, 1, f)
		client.send(tt.up)
		server.expect(tt.up)
		server.send(tt.down)
		client.expect(tt.down)
		client.send("more\r\n")
		server.expect("more\r\n")
		server.send("+more\r\n")
		client.expect("+more\r\n")
		require.ErrorIs(t, w.Err(), errFraming)
		require.ErrorContains(t, w.Err(), tt.want)
		require.NoError(t, w.Close())
	}
}

// FuzzCommands: any split of a client's bytes gives the same commands, and
// together with the rest they are the bytes that were sent.
func FuzzCommands(f *testing.F) {
	for _, seed := range []string{
		"PING\r\n", "\r\n\nGET k\n", "*1\r\n$4\r\nPING\r\n", "*0\r\nGET \"a b\"\r\n", "SET k a\"b\"\r\n", "$5 hello\r\n",
		"*2\r\n$3\r\nGET\r\n$-2\r\n", "*1\r\n$9223372036854775807\r\n", "*-1\r\n", "*1\r\n$-9\r\n", "*3\r\n$3\r\nSET\r\n",
	} {
		f.Add([]byte(seed), uint64(1))
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		want, wantErr := readAllCommands(bytes.NewReader(data))
		got, gotErr := readAllCommands(&chunked{b: data, next: rand.New(rand.NewPCG(seed, 0)).IntN})
		require.Equal(t, want, got)
		require.Equal(t, wantErr, gotErr)
		require.Equal(t, string(data), strings.Join(want, ""))
	})
}

// readAllCommands returns the commands and, last, the bytes that are none.
func readAllCommands(src io.Reader) ([]string, string) {
	r := newCommandReader(src)
	var list []string
	for {
		c, err := r.next()
		if err != nil {
			rest, _ := io.ReadAll(src)
			return append(list, string(r.rest())+string(rest)), strconv.Quote(err.Error())
		}
		list = append(list, string(c.raw))
	}
}
