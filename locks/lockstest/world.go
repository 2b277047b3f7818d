package lockstest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/oversell/oversell/internal/redistest"
)

// Env is where one test takes place.
type Env struct {
	Server *redistest.Server
	// TTL is for locks that are to expire: long enough to be renewed in time.
	TTL time.Duration
	// Settle returns when all that can happen by now has happened. Nil where
	// only a guess could tell.
	Settle func()
}

// World calls test with a place for it.
type World func(t *testing.T, test func(t *testing.T, e Env))

// Bubble is a synctest bubble with a miniredis in it: the clock is fake, so
// waiting costs no time and times are exact. A goroutine that outlives its test
// makes the test fail.
func Bubble(t *testing.T, test func(t *testing.T, e Env)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		test(t, Env{Server: redistest.Mini(t), TTL: 30 * time.Second, Settle: synctest.Wait})
	})
}

// Redis starts a redis-server for the tests of t. They run in parallel, each
// with a key of its own. Without redis-server on PATH, t is skipped.
func Redis(t *testing.T) World {
	s := redistest.Process(t)
	return func(t *testing.T, test func(t *testing.T, e Env)) {
		t.Parallel()
		// A renewal may come more than a second late on a busy machine.
		test(t, Env{Server: s, TTL: 2 * time.Second})
	}
}
