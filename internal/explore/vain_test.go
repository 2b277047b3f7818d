package explore

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/locks"
)

// What does nothing any more is taken off its way, and what would change nothing now
// isn't delivered. That loses no end and no counterexample, and nothing gets longer.
func TestSheddingLosesNothing(t *testing.T) {
	long(t)
	for _, c := range []struct {
		lock    string
		hazards []string
		masters int
	}{
		{"redsync", []string{"delay"}, MinMasters},
		{"redsync", []string{"expiry"}, MinMasters},
		{"redsync-extend", []string{"delay"}, 0},
		{"redsync-extend", []string{"expiry", "lost-reply"}, 0},
		{"redislock-refresh", []string{"expiry"}, 0},
		{"lua-watchdog", []string{"delay", "restart"}, 0},
		{"lua-watchdog", []string{"expiry", "failover"}, 0},
		{"leaky-watchdog", []string{"delay", "lost-reply"}, 0},
		{"fenced", []string{"expiry"}, 0},
		{"tair-cas-cad", []string{"delay", "eviction"}, 0},
	} {
		t.Run(fmt.Sprint(c.lock, c.hazards), func(t *testing.T) {
			is := two(t, kind(t, c.lock), c.hazards...)
			is.Masters = c.masters
			all := explored(t, is, Config{Workers: 2})
			r := explored(t, is, Config{Workers: 2, noShed: true})
			require.True(t, all.Complete, all.Why)
			require.True(t, r.Complete, r.Why)
			require.Less(t, all.States, r.States)
			require.Equal(t, r.finals, all.finals)
			requireSameExamples(t, r, all)
		})
	}
}

// A lock that sets the value of an attempt again is told from those that don't: what
// names the value may do something again, so it is left on its way.
func TestReusedValues(t *testing.T) {
	once := func(k locks.Kind, masters int) error {
		is := two(t, k, "crash", "delay")
		is.Masters, is.Preemptions, is.Faults = masters, 1, 1
		r := &Report{Case: is.WithDefaults()}
		return r.exhaustOnce(t.Context(), Config{T: t, Workers: 2}, time.Minute)
	}
	require.NoError(t, once(majority(true), MinMasters))
	require.ErrorIs(t, once(majority(false), MinMasters), errReuses)
	old := folk{name: "tries-first", release: func(ctx context.Context, c *redis.Client, key, value string) (bool, error) {
		return yes(compareAndDelete.Run(ctx, c, []string{key}, value).Int64())
	}, acquire: func(ctx context.Context, c *redis.Client, key, value string, ttl time.Duration) (bool, error) {
		if err := c.Set(ctx, key+":tried-by", rand.Text(), ttl).Err(); err != nil {
			return false, err
		}
		return c.SetNX(ctx, key, value, ttl).Result()
	}}.kind()
	require.ErrorIs(t, once(old, 0), errReuses)
}

// Values of a buyer's that a server holds, or that are on their way, are told apart,
// however often the buyer has come back to where it was. Here B has given up on a SET,
// which then takes the lock after all, and goes round in its circle.
func TestValuesInUseHaveNumbersOfTheirOwn(t *testing.T) {
	c := bounded(t, "redsync-extend", 3, 2, 2, []string{"all"})
	path := picked(t, "deliver 1.0,deliver 1.0,return 1.0,deliver 2.0,lose-reply 2.0,expiry,deliver 2.1,deliver 2.0,"+
		"deliver 3.1,deliver 3.2,deliver 3.1,time,deliver 1.1,deliver 1.1,deliver 2.0")
	require.NoError(t, alone(t, c, func(k *worker) error {
		k.w.begin()
		if !k.goAlong(path, func() {}) {
			return errHolds
		}
		type name struct{ buyer, number int }
		who := map[name]string{}
		for v, is := range k.w.tokens {
			if is.n == 0 || !k.w.uses(v) {
				continue
			}
			n := name{is.b.n, is.n}
			if other, taken := who[n]; taken {
				return fmt.Errorf("%s and %s both are %s", v, other, is.named(is.b.n))
			}
			who[n] = v
		}
		if len(who) < 3 {
			return fmt.Errorf("only %d values are in use", len(who))
		}
		return k.w.end()
	}))
}
