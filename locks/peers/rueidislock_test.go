package peers_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/internal/redistest"
	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/locks/peers"
)

const (
	rueidisTTL = 2 * time.Second
	patience   = time.Minute // ends only tests that fail
)

// rueidis makes one instance's locker on s, which counts its connections.
func rueidis(t *testing.T, s *redistest.Server, admin *redis.Client) (locks.Locker, locks.Kind, *atomic.Int32) {
	t.Helper()
	dialled := new(atomic.Int32)
	for _, k := range peers.All() {
		if k.Name != "rueidislock" {
			continue
		}
		l, err := k.New(t.Context(), locks.Clients{
			Shape: cluster.Single, Redis: admin, Addrs: []string{"redis:6379"},
			Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
				require.Equal(t, "tcp", network)
				require.Equal(t, "redis:6379", addr)
				dialled.Add(1)
				return s.Dial(ctx)
			},
		}, locks.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, l.Close()) })
		return l, k, dialled
	}
	require.FailNow(t, "no such kind")
	return nil, locks.Kind{}, nil
}

// TestRueidislockNotices takes the key away, and lets the next in.
func TestRueidislockNotices(t *testing.T) {
	t.Parallel()
	s := redistest.Process(t)
	admin := s.Client(t, nil)
	first, kind, dialled := rueidis(t, s, admin)
	second, _, _ := rueidis(t, s, admin)
	key := kind.KeyForm("lock")

	a, err := first.Acquire(t.Context(), key, rueidisTTL)
	require.NoError(t, err)
	require.Positive(t, dialled.Load(), "it goes by the instance's own way")
	require.EqualValues(t, 1, admin.Exists(t.Context(), key).Val(), "under the key that it was asked for")

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	next := make(chan locks.Lease, 1)
	go func() {
		b, _ := second.Acquire(ctx, key, rueidisTTL)
		next <- b
	}()
	require.NoError(t, admin.Del(t.Context(), key).Err())
	select {
	case <-a.Lost():
	case <-ctx.Done():
		require.FailNow(t, "the loss was never noticed")
	}
	require.ErrorIs(t, a.Release(ctx), locks.ErrUntold)
	b := <-next
	require.NotNil(t, b)
	require.EqualValues(t, 1, admin.Exists(t.Context(), key).Val(), "a release spares another's key")
	require.ErrorIs(t, b.Release(ctx), locks.ErrUntold)
	require.Zero(t, admin.Exists(t.Context(), key).Val())
	select {
	case <-b.Lost():
		require.FailNow(t, "it was given back and not lost")
	default:
	}
}

func TestRueidislockWantsItsOwnForm(t *testing.T) {
	s := redistest.Mini(t)
	l, _, dialled := rueidis(t, s, s.Client(t, nil))
	_, err := l.Acquire(t.Context(), "lock", rueidisTTL)
	require.ErrorIs(t, err, locks.ErrNotAcquired)
	require.ErrorContains(t, err, ":0:")
	require.Zero(t, dialled.Load())
}

// TestRueidislockWaitingEnds with the purchase, or with the locker.
func TestRueidislockWaitingEnds(t *testing.T) {
	t.Parallel()
	s := redistest.Process(t)
	admin := s.Client(t, nil)
	l, kind, _ := rueidis(t, s, admin)
	key := kind.KeyForm("lock")
	require.NoError(t, admin.Set(t.Context(), key, "someone else", time.Hour).Err())

	ctx, cancel := context.WithTimeout(t.Context(), rueidisTTL/4)
	defer cancel()
	lease, err := l.Acquire(ctx, key, rueidisTTL)
	require.Nil(t, lease)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	ended := make(chan error, 1)
	go func() {
		_, err := l.Acquire(context.WithoutCancel(ctx), key, rueidisTTL)
		ended <- err
	}()
	require.NoError(t, l.Close())
	select {
	case err := <-ended:
		require.Error(t, err)
	case <-time.After(patience):
		require.FailNow(t, "closing doesn't end the waiting")
	}
	require.Equal(t, "someone else", admin.Get(t.Context(), key).Val())
}
