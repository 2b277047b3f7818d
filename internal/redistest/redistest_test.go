package redistest_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/oversell/oversell/internal/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestProcessIsGoneWithItsTest(t *testing.T) {
	var s *redistest.Server
	ok := t.Run("alive", func(t *testing.T) {
		s = redistest.Process(t)
		require.NoError(t, s.Client(t, nil).Set(t.Context(), "k", "v", time.Minute).Err())
	})
	require.True(t, ok)
	if s == nil {
		t.Skip("needs redis-server on PATH")
	}
	_, err := s.Dial(t.Context())
	require.Error(t, err)
}

func TestMiniKeepsToTheBubblesClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := redistest.Mini(t).Client(t, nil)
		require.NoError(t, c.Set(t.Context(), "k", "v", time.Minute).Err())
		time.Sleep(59 * time.Second)
		require.NoError(t, c.Get(t.Context(), "k").Err())
		time.Sleep(2 * time.Second)
		require.ErrorIs(t, c.Get(t.Context(), "k").Err(), redis.Nil)
	})
}

func TestHookAnswersForTheServer(t *testing.T) {
	c := redistest.Mini(t).Client(t, nil)
	c.AddHook(redistest.Hook(func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
		if cmd.Name() == "del" {
			return io.EOF
		}
		return next(ctx, cmd)
	}))
	require.NoError(t, c.Set(t.Context(), "k", "v", 0).Err())
	require.ErrorIs(t, c.Del(t.Context(), "k").Err(), io.EOF)
	require.Equal(t, "v", c.Get(t.Context(), "k").Val())
}
