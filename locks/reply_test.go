package locks_test

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/oversell/oversell/internal/redistest"
	"github.com/oversell/oversell/locks"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestErrorReplies lets a server give them, since go-redis turns some into
// types of their own.
func TestErrorReplies(t *testing.T) {
	s := redistest.Mini(t)
	c := s.Client(t, nil)
	for reply, forNow := range map[string]bool{
		"READONLY You can't write against a read only replica.":                    true,
		"LOADING Redis is loading the dataset in memory":                           true,
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is 'no'": true,
		"CLUSTERDOWN The cluster is down":                                          true,
		"NOREPLICAS Not enough good replicas to write.":                            true,
		"TRYAGAIN Multiple keys request during rehashing of slot":                  true,
		"BUSY Redis is busy running a script.":                                     true,
		"MISCONF Redis is configured to save RDB snapshots, but it can't":          true,
		"OOM command not allowed when used memory > 'maxmemory'.":                  true,
		"ERR max number of clients reached":                                        true,
		"BUSYKEY Target key name already exists.":                                  false,
		"NOAUTH Authentication required.":                                          false,
		"NOPERM this user has no permissions to run the 'set' command":             false,
		"WRONGTYPE Operation against a key holding the wrong kind of value":        false,
		"ERR unknown command 'SETNX'":                                              false,
		"MOVED 1234 127.0.0.1:7001":                                                false,
	} {
		s.Mini.SetError(reply)
		err := fmt.Errorf("wrapped: %w", c.SetNX(t.Context(), "k", "v", 0).Err())
		require.ErrorContains(t, err, reply)
		assert.True(t, locks.Refused(err), reply)
		assert.Equal(t, forNow, locks.RefusedForNow(err), reply)
	}
}

func TestNotARefusal(t *testing.T) {
	s := redistest.Mini(t)
	c := s.Client(t, nil)
	require.NoError(t, c.Close())
	for _, err := range []error{
		nil, io.EOF, context.Canceled, context.DeadlineExceeded, redis.Nil,
		c.Get(t.Context(), "k").Err(), // "redis: client is closed"
	} {
		assert.False(t, locks.Refused(err), "%v", err)
		assert.False(t, locks.RefusedForNow(err), "%v", err)
	}
}
