package lockstest

import (
	"bytes"
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/locks"
)

// dyingConn is closed instead of sending an EXPIRE or PEXPIRE, as when its
// process dies at that moment.
type dyingConn struct{ net.Conn }

func (c dyingConn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("\r\nexpire\r\n")) || bytes.Contains(p, []byte("\r\npexpire\r\n")) {
		_ = c.Close()
		return 0, net.ErrClosed
	}
	return c.Conn.Write(p)
}

func testCrashBetween(t *testing.T, b *bench) {
	dying := b.Servers[0].Client(t, func(o *redis.Options) {
		dial := o.Dialer
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return dyingConn{conn}, nil
		}
	})
	lease, err := b.lockerOn(t, []*redis.Client{dying}, locks.Options{}).Acquire(t.Context(), b.key, time.Second)
	require.Nil(t, lease)
	require.ErrorIs(t, err, net.ErrClosed)
	require.NotErrorIs(t, err, locks.ErrNotAcquired, "its key is there")
	require.NotEmpty(t, b.value(t))
	require.EqualValues(t, -1, b.pttl(t), "a key that never expires")

	// Nobody gets in any more.
	var p tap
	polled := p.after(10)
	ctx, cancel := context.WithCancel(t.Context())
	next := b.acquiring(ctx, b.locker(t, p.hook()), time.Second)
	await(t, polled, "ten attempts of the next buyer")
	cancel()
	got := await(t, next, "the end of the next buyer's waiting")
	require.Nil(t, got.lease)
	require.ErrorIs(t, got.err, context.Canceled)
	require.EqualValues(t, -1, b.pttl(t))
}
