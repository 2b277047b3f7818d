// Package redistest gives tests a server of their own: a redis-server when
// there is one, or a miniredis that keeps to the clock of a synctest bubble.
package redistest

import (
	"context"
	"net"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster/embedded"
)

// Server is a server that one test, or one test and its subtests, can use.
// Safe for concurrent use.
type Server struct {
	Mini *miniredis.Miniredis // nil for a real server

	dial func(ctx context.Context) (net.Conn, error)
}

// Dial connects to the server.
func (s *Server) Dial(ctx context.Context) (net.Conn, error) { return s.dial(ctx) }

// Mini starts a miniredis whose keys expire by the clock, the fake one if t
// runs in a synctest bubble. It has the commands that the embedded backend adds.
// It opens no socket, and is closed when t ends.
func Mini(t testing.TB) *Server {
	t.Helper()
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	t.Cleanup(m.Close)
	// A first connection makes the library set up its commands.
	c, err := m.Dial()
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.NoError(t, embedded.AddCommands(m))
	return &Server{Mini: m, dial: func(context.Context) (net.Conn, error) { return m.Dial() }}
}

// Client makes a client as the project's instances use it: no retries, and
// deadlines that count. It is closed when t ends. tune, when not nil, may
// change its options.
func (s *Server) Client(t testing.TB, tune func(*redis.Options)) *redis.Client {
	t.Helper()
	opts := &redis.Options{
		Addr:                     "127.0.0.1:0", // for messages only: Dialer knows the way
		Dialer:                   func(ctx context.Context, _, _ string) (net.Conn, error) { return s.dial(ctx) },
		Protocol:                 3,
		DisableIdentity:          true,
		MaxRetries:               -1,
		DialerRetries:            1,
		ContextTimeoutEnabled:    true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if tune != nil {
		tune(opts)
	}
	c := redis.NewClient(opts)
	t.Cleanup(func() { _ = c.Close() }) // a test may have closed it before
	require.NoError(t, c.Ping(t.Context()).Err(), "reach the test's server")
	return c
}
