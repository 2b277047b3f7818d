package overselltest_test

import (
	"context"
	"crypto/rand"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/locks/peers"
	"github.com/oversell/oversell/overselltest"
)

var release = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`)

// Lock is the lock under test: SET NX PX with a unique token, and a script that
// deletes only its own. Nothing renews it.
func Lock(ctx context.Context, client redis.UniversalClient, key string, ttl time.Duration) (func(context.Context) error, error) {
	token := rand.Text()
	for {
		ok, err := client.SetNX(ctx, key, token, ttl).Result()
		if err != nil {
			return nil, err
		}
		if ok {
			return func(ctx context.Context) error { return release.Run(ctx, client, []string{key}, token).Err() }, nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// In a test of your own, call Explore from a Test function. This lock survives
// crashes: its key expires.
func Example() {
	testLock := func(t *testing.T) {
		overselltest.Explore(t, overselltest.Func(Lock), overselltest.Hazards("crash"))
	}
	_ = testLock // func TestLock(t *testing.T) { ... }
}

func TestLockSurvivesCrashes(t *testing.T) {
	overselltest.Explore(t, overselltest.Func(Lock), overselltest.Hazards("crash"))
}

func TestLockRefusesWhatIsStaleWithAFence(t *testing.T) {
	overselltest.Explore(t, overselltest.Func(Lock), overselltest.Hazards("slow-call"), overselltest.Fenced())
}

// A lock on several independent masters finds them in its clients.
func TestMajoritySurvivesLostReplies(t *testing.T) {
	i := slices.IndexFunc(peers.All(), func(k locks.Kind) bool { return k.Name == "redsync" })
	overselltest.Explore(t, peers.All()[i].New, overselltest.Masters(3), overselltest.Hazards("lost-reply"))
}
