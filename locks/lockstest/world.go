package lockstest

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oversell/oversell/internal/redistest"
)

// Env is where one test takes place.
type Env struct {
	Servers []*redistest.Server
	// TTL is for locks that are to expire: long enough to be renewed in time.
	TTL time.Duration
	// Settle returns when all that can happen by now has happened. Nil where
	// only a guess could tell.
	Settle func()
}

// World calls test with a place for it, which has that many servers.
type World func(t *testing.T, servers int, test func(t *testing.T, e Env))

// Bubble is a synctest bubble with miniredis servers in it: the clock is fake,
// so waiting costs no time and times are exact. A goroutine that outlives its
// test makes the test fail.
func Bubble(t *testing.T, servers int, test func(t *testing.T, e Env)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := Env{TTL: 30 * time.Second, Settle: synctest.Wait}
		for range servers {
			e.Servers = append(e.Servers, redistest.Mini(t))
		}
		test(t, e)
	})
}

// Redis starts redis-servers, as many as are asked for, for the tests of t.
// They run in parallel, each with a key of its own. Without redis-server on
// PATH, t is skipped.
func Redis(t *testing.T) World {
	var mu sync.Mutex
	var all []*redistest.Server
	start := func(n int) []*redistest.Server {
		mu.Lock()
		defer mu.Unlock()
		for len(all) < n {
			all = append(all, redistest.Process(t))
		}
		return all[:n]
	}
	start(1)
	return func(t *testing.T, servers int, test func(t *testing.T, e Env)) {
		t.Parallel()
		// A renewal may come more than a second late on a busy machine.
		test(t, Env{Servers: start(servers), TTL: 2 * time.Second})
	}
}
