package wire

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/oversell/oversell/history"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait for an event: it is only ever used up by a failure.
const patience = time.Minute

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func newTestWire(t testing.TB, handlers ...Handler) *Wire {
	w := New(history.Since(history.Monotonic()), handlers...)
	t.Cleanup(func() {
		assert.NoError(t, w.Err())
		assert.NoError(t, w.Close())
	})
	return w
}

// eventually waits until cond is true.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			require.Fail(t, "timed out", what)
		}
	}
}

// receive waits for a value.
func receive[T any](t testing.TB, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		require.Fail(t, "timed out", what)
		panic("unreachable")
	}
}

// eachServer runs a test against miniredis and against a real server.
func eachServer(t *testing.T, test func(t *testing.T, up Upstream)) {
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		test(t, startMiniredis(t))
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, startRedis(t))
	})
}

func startMiniredis(t testing.TB) Upstream {
	m := miniredis.NewMiniRedis()
	require.NoError(t, m.Start())
	t.Cleanup(m.Close)
	return dialUpstream("tcp", m.Addr())
}

// startRedis starts a redis-server of its own, and skips the test where there
// is none.
func startRedis(t testing.TB) Upstream {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("no redis-server on PATH")
	}
	dir, err := os.MkdirTemp("", "wire")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	cmd := exec.Command(path, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", dir)
	var log bytes.Buffer
	cmd.Stdout = &log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	up := dialUpstream("unix", socket)
	eventually(t, "redis-server answers", func() bool { return answers(up) })
	return up
}

func answers(up Upstream) bool {
	c, err := up(context.Background())
	if err != nil {
		return false
	}
	defer c.Close()
	_, _ = io.WriteString(c, "PING\r\n")
	line, _ := bufio.NewReader(c).ReadString('\n')
	return line == "+PONG\r\n"
}

func dialUpstream(network, addr string) Upstream {
	return func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, addr)
	}
}

// newClient is go-redis as instance, over a port of the wire. It neither
// retries nor pools more than it needs.
func newClient(t testing.TB, w *Wire, instance int, up Upstream, protocol int) *redis.Client {
	addr, err := w.Listen(instance, "redis", up)
	require.NoError(t, err)
	c := redis.NewClient(&redis.Options{
		Addr: addr, Protocol: protocol, MaxRetries: -1,
		ReadTimeout: patience, WriteTimeout: patience, ContextTimeoutEnabled: true,
	})
	t.Cleanup(func() { c.Close() })
	return c
}

// recorder is a handler that keeps what it is asked.
type recorder struct {
	mu   sync.Mutex
	seen []Exchange
	at   []Point
}

func (r *recorder) handle(_ context.Context, p Point, x *Exchange) Action {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, x.Clone())
	r.at = append(r.at, p)
	return Pass
}

// named returns what was seen of a command at a point.
func (r *recorder) named(p Point, name string) []Exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	var xs []Exchange
	for i, x := range r.seen {
		if r.at[i] == p && x.Name == name {
			xs = append(xs, x)
		}
	}
	return xs
}

// fakeServer is a server that a test plays by hand, one connection at a time.
type fakeServer struct {
	up    Upstream
	conns chan net.Conn
}

func newFakeServer(t testing.TB) *fakeServer {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f := &fakeServer{up: dialUpstream("tcp", l.Addr().String()), conns: make(chan net.Conn, 16)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			f.conns <- c
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return f
}

// accept returns the next connection.
func (f *fakeServer) accept(t testing.TB) *testConn {
	return newTestConn(t, receive(t, "a connection at the server", f.conns))
}

// testConn is a connection with a test at its end.
type testConn struct {
	net.Conn
	t testing.TB
	r *bufio.Reader
}

func newTestConn(t testing.TB, c net.Conn) *testConn {
	t.Cleanup(func() { c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
	return &testConn{Conn: c, t: t, r: bufio.NewReader(c)}
}

func (c *testConn) send(s string) {
	c.t.Helper()
	_, err := io.WriteString(c, s)
	require.NoError(c.t, err)
}

// expect reads exactly s.
func (c *testConn) expect(s string) {
	c.t.Helper()
	got := make([]byte, len(s))
	n, err := io.ReadFull(c.r, got)
	require.NoErrorf(c.t, err, "read %q of %q", got[:n], s)
	require.Equal(c.t, s, string(got))
}

// expectEnd reads the end of the connection and nothing before it.
func (c *testConn) expectEnd() {
	c.t.Helper()
	b, err := c.r.ReadByte()
	require.Errorf(c.t, err, "read %q", b)
	require.NotErrorIs(c.t, err, os.ErrDeadlineExceeded)
}

// pair is a client and a server with a wire between them.
func pair(t testing.TB, handlers ...Handler) (w *Wire, client, server *testConn) {
	w = newTestWire(t, handlers...)
	f := newFakeServer(t)
	client, server = dialPair(t, w, 1, f)
	return w, client, server
}

func dialPair(t testing.TB, w *Wire, instance int, f *fakeServer) (client, server *testConn) {
	addr, err := w.Listen(instance, "redis", f.up)
	require.NoError(t, err)
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	return newTestConn(t, c), f.accept(t)
}
