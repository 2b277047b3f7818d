package explore

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/locks"
)

// straying is a lock that asks for something else the nth time that it is asked.
func straying(strays func(nth int64) bool) locks.Kind {
	var n atomic.Int64
	return badKind(func(ctx context.Context, c locks.Clients, key string, ttl time.Duration) error {
		if strays(n.Add(1)) {
			c.Redis.Get(ctx, "something else")
		}
		return grab(ctx, c, key, ttl)
	})
}

// A lock that goes another way once in a great while is explored, whenever that comes,
// and the report tells of it.
func TestALockThatStrays(t *testing.T) {
	usual := explored(t, two(t, straying(func(int64) bool { return false }), "expiry", "crash"), Config{})
	require.True(t, usual.Complete)
	require.Zero(t, usual.Strays)
	require.Nil(t, usual.Strayed)
	told := 0
	for at := int64(1); at < 200; at += 7 {
		r := explored(t, two(t, straying(func(nth int64) bool { return nth == at }), "expiry", "crash"), Config{})
		require.True(t, r.Complete, at)
		requireSameFound(t, usual, r)
		require.Equal(t, usual.Counts, r.Counts, at)
		require.LessOrEqual(t, r.Strays, int64(1), at)
		if r.Strays == 0 {
			require.Nil(t, r.Strayed)
			continue
		}
		told++
		require.NotEmpty(t, r.Strayed.Schedule, at)
		require.NotContains(t, r.Strayed.Before, "[GET something else]", at)
	}
	require.Positive(t, told)
}

// One that does so now and then is another matter.
func TestALockThatOftenStrays(t *testing.T) {
	err := fails(t, straying(func(nth int64) bool { return nth%50 == 0 }), "expiry", "crash")
	var nd *NondeterminismError
	require.ErrorAs(t, err, &nd)
	require.NotEmpty(t, nd.Schedule)
}
