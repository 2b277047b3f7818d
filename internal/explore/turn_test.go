package explore

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/locks"
)

func TestTurns(t *testing.T) {
	for _, group := range [][]turn{turnsOf(3, 0), turnsOf(2, 3), turnsOf(3, 3)} {
		for _, a := range group {
			require.Equal(t, asItIs, a.then(a.back()))
			require.Equal(t, asItIs, a.back().then(a))
			for _, b := range group {
				both := a.then(b)
				require.Contains(t, group, both)
				for n := range 4 {
					require.Equal(t, b.of(a.of(n)), both.of(n))
				}
				for n := range 3 {
					require.Equal(t, b.server(a.server(n)), both.server(n))
				}
			}
		}
	}
	require.Len(t, turnsOf(2, 3), 12)
	require.Len(t, turnsOf(3, 3), 36)
	require.Len(t, turnsOf(4, 3), 1)
	require.Len(t, turnsOf(4, 5), 1)
	require.Equal(t, makeEvent(deliver, 2, 7).at(2), turn(7).event(makeEvent(deliver, 1, 7).at(2)))
	require.Equal(t, makeEvent(restart, 0, 0).at(1), turn(6).event(makeEvent(restart, 0, 0).at(0)))
	require.Equal(t, makeEvent(deliver, 2, 7), turn(1).event(makeEvent(deliver, 1, 7)))
	require.Equal(t, makeEvent(pass, 0, 0), turn(1).event(makeEvent(pass, 0, 0)))
}

// Exchanging buyers must lose nothing either: with buyers told apart there are
// as many schedules, and with every schedule played too, where those are few.
func TestExchangedBuyersLoseNothing(t *testing.T) {
	long(t)
	for _, c := range []struct {
		lock                        string
		buyers, preemptions, faults int
		all                         bool // play every schedule too
		hazards                     []string
	}{
		{"constant-value", 3, -1, 0, true, []string{"none"}},
		{"exset-excad", 3, -1, 0, true, []string{"none"}},
		{"get-then-del", 3, 1, 0, true, []string{"crash"}},
		{"lua-release", 3, 1, 0, true, []string{"slow-call"}},
		{"fenced", 3, 0, 0, true, []string{"lost-reply"}},
		{"lua-release", 2, 1, 0, true, []string{"expiry", "crash"}},
		{"get-then-del", 2, 2, 0, true, []string{"delay"}},
		{"constant-value", 2, -1, 2, true, []string{"crash", "lost-reply", "eviction"}},
		{"lua-watchdog", 2, -1, 1, true, []string{"slow-call", "crash", "failover", "restart"}},
		{"setnx-expire-del", 3, -1, 0, false, []string{"crash"}},
		{"get-then-del", 3, 2, 0, false, []string{"expiry"}},
		{"lua-watchdog", 3, 1, 0, false, []string{"delay"}},
		{"fenced", 3, 1, 2, false, []string{"crash", "failover"}},
		{"fenced", 2, -1, 2, false, []string{"lost-reply", "restart"}},
		{"redislock-refresh", 2, -1, 2, false, []string{"lost-command", "crash"}},
		{"leaky-watchdog", 2, -1, 2, false, []string{"crash", "lost-reply"}},
	} {
		t.Run(fmt.Sprint(c.lock, c.buyers, c.preemptions, c.hazards), func(t *testing.T) {
			cs := bounded(t, c.lock, c.buyers, c.preemptions, c.faults, c.hazards)
			exchanged := explored(t, cs, Config{Workers: 2})
			apart := explored(t, cs, Config{Workers: 2, noTurns: true})
			require.False(t, exchanged.plain)
			require.True(t, apart.plain)
			require.LessOrEqual(t, exchanged.States, apart.States)
			others := []*Report{apart}
			if c.all {
				others = append(others, explored(t, cs, Config{Workers: 2, Unreduced: true, recall: true}))
			}
			for _, r := range others {
				requireSame(t, r, exchanged)
			}
			t.Log(exchanged.Counts.All, exchanged.States, apart.States)
		})
	}
}

// Buyers of a lock that draws its values from the Rand that it is given are told
// apart: they would else draw the same.
func TestBuyersThatDrawValuesAreToldApart(t *testing.T) {
	k := badKind(nil)
	k.New = func(_ context.Context, c locks.Clients, o locks.Options) (locks.Locker, error) {
		return bad{c: c, acquire: func(ctx context.Context, c locks.Clients, key string, ttl time.Duration) error {
			var value []byte
			for range 12 {
				value = append(value, byte('a'+o.Rand.IntN(26)))
			}
			ok, err := c.Redis.SetNX(ctx, key, value, ttl).Result()
			if err == nil && !ok {
				return locks.ErrNotAcquired
			}
			return err
		}}, nil
	}
	r := explored(t, two(t, k, "crash"), Config{Workers: 2})
	require.True(t, r.Complete)
	require.True(t, r.plain)
	require.Equal(t, explored(t, two(t, kind(t, "set-nx-ex"), "crash"), Config{}).Counts, r.Counts)
}
