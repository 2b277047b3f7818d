package redistest

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// supervise runs redis-server as a child. When standard input ends, also because
// the test's process died without cleaning up, it kills that child, and nothing
// else, and removes the folder $0.
const supervise = `redis-server "$@" </dev/null & pid=$!
read -r _
kill -9 "$pid"
wait "$pid" 2>/dev/null
rm -rf "$0"`

// startTimeout is generous: the machine may be busy with other tests.
const startTimeout = 30 * time.Second

// Process starts a redis-server from PATH, which is gone when t ends. Without
// one, t is skipped. The server has a socket in a temporary folder and no port,
// so it can't clash with another and can't be reached from elsewhere.
func Process(t testing.TB) *Server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("needs redis-server on PATH")
	}
	// Not t.TempDir: a socket's path is limited to about 100 characters.
	dir, err := os.MkdirTemp("", "redistest-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket, log := filepath.Join(dir, "redis.sock"), filepath.Join(dir, "redis.log")

	cmd := exec.Command("sh", "-c", supervise, dir,
		"--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", dir, "--logfile", log)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start(), "start redis-server")
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	s := &Server{dial: func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}
	s.awaitReady(t, log)
	return s
}

// awaitReady returns once the server accepts connections. Nothing is loaded at
// the start, so it then answers as well.
func (s *Server) awaitReady(t testing.TB, log string) {
	t.Helper()
	deadline := time.Now().Add(startTimeout)
	for {
		conn, err := s.dial(t.Context())
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(deadline) {
			printed, _ := os.ReadFile(log)
			require.NoErrorf(t, err, "redis-server didn't start; its log:\n%s", printed)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
