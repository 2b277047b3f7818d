package explore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/locks"
)

// onMasters is a case of a lock on three masters.
func onMasters(t testing.TB, lock string, hazards ...string) Case {
	c := two(t, kind(t, lock), hazards...)
	c.Masters = MinMasters
	return c
}

// What a majority withstands, and what it doesn't: the algorithm's own caveats.
func TestMajorities(t *testing.T) {
	for _, c := range []struct {
		lock, hazard string
		broken       []Property
	}{
		{"redlock-watchdog", "none", nil},
		{"redlock-watchdog", "crash", nil},
		{"fenced-redlock", "none", nil},
		{"redsync", "none", nil},
		{"redsync", "slow-call", []Property{Oversold}},
		{"redsync", "lost-reply", nil},
		{"redsync", "lost-command", nil},
		{"redsync", "eviction", []Property{Oversold}},
		{"redsync-extend", "slow-call", nil},
		{"redsync-extend", "failover", []Property{Oversold}},
	} {
		t.Run(c.lock+"/"+c.hazard, func(t *testing.T) {
			r := explored(t, onMasters(t, c.lock, c.hazard), Config{Workers: 2})
			require.True(t, r.Complete, r.Why)
			require.False(t, r.plain)
			var broken []Property
			for _, x := range r.Found {
				broken = append(broken, x.Property)
				require.True(t, x.Shortest)
			}
			require.Equal(t, c.broken, broken)
		})
	}
}

// On masters there are more reductions: those are exchanged too, and which of them has
// answered first doesn't count. They lose nothing either.
func TestReductionOnMastersLosesNothing(t *testing.T) {
	told := Config{noTurns: true, inOrder: true} // masters, and the order of their answers
	for _, c := range []struct {
		hazard      string
		preemptions int
		ways        []Config
	}{
		{"none", -1, []Config{{noCompose: true}, {noInfer: true}, {noForget: true}, {noTurns: true}}},
		{"none", 1, []Config{told}},
		{"crash", -1, []Config{{noCompose: true}, {noInfer: true}, {noForget: true}}},
		{"eviction", 0, []Config{told}},
		{"slow-call", -1, []Config{{noCompose: true}, {noInfer: true}}},
		{"slow-call", 0, []Config{told, {Unreduced: true}}},
	} {
		t.Run(fmt.Sprint(c.hazard, c.preemptions), func(t *testing.T) {
			is := onMasters(t, "redsync", c.hazard)
			is.Preemptions = c.preemptions
			all := explored(t, is, Config{Workers: 2})
			for _, cfg := range c.ways {
				cfg.Workers = 2
				r := explored(t, is, cfg)
				require.True(t, r.Complete, r.Why)
				requireSame(t, all, r)
			}
		})
	}
}

// Of those who have bought all is given back that they hold, also what they no longer
// wait for: how it ends doesn't depend on which master comes first.
func TestAllIsGivenBackAfterTheSale(t *testing.T) {
	is := onMasters(t, "redlock-watchdog", "delay")
	is.Preemptions = 1
	one := explored(t, is, Config{Workers: 1, noCompose: true})
	require.True(t, one.Complete, one.Why)
	for _, cfg := range []Config{{Workers: 1}, {Workers: 2}} {
		r := explored(t, is, cfg)
		require.Equal(t, one.Counts, r.Counts)
		require.Equal(t, one.finals, r.finals)
	}
}

// Once nothing is left, nobody else's steps are followed: only those who have bought
// give back what they hold.
func TestNothingIsFollowedAfterTheSale(t *testing.T) {
	s := scene{stock: 1, masters: 3, preemptions: -1, setting: setting{orders: 1}, buyers: []sketch{
		{bought: 1, pend: []trait{isCommand | 1<<masterBits, isCommand | isOrphan | 2<<masterBits}, needs: []need{anyValue, anyValue}},
		{pend: []trait{isCommand | 1<<masterBits}, needs: []need{anyValue}},
	}}
	require.Equal(t, []event{makeEvent(deliver, 1, 0).at(0)}, s.enabled(nil))
	s.buyers[0].is = isDone
	require.Equal(t, []event{makeEvent(deliver, 1, 0).at(0)}, s.enabled(nil), "on its way still")
	s.buyers[0].is = 0
	s.buyers[1] = sketch{is: isInside, pend: []trait{isCommand | 1<<masterBits, isCall}, needs: []need{anyValue, anyValue}}
	require.Equal(t, []event{makeEvent(giveBack, 2, 1)}, s.enabled(nil), "who is inside sells one too many")
	s.stock = 2
	require.Greater(t, len(s.enabled(nil)), 1, "one was lost: what becomes of it isn't certain")
	s.stock, s.masters = 1, 0
	require.Greater(t, len(s.enabled(nil)), 1, "on one server everything is followed")
}

// What one attempt gives back may arrive during the next. A lock that uses one value
// for both removes its own new key by it, once two have been in each other's way.
func TestAttemptsOverlap(t *testing.T) {
	c := two(t, majority(true), "none")
	c.Masters = MinMasters
	r := explored(t, c, Config{Workers: 2})
	require.True(t, r.Complete, r.Why)
	require.Empty(t, r.Found)

	c = two(t, majority(false), "lost-command")
	c.Masters = MinMasters
	r = explored(t, c, Config{Strategy: Random})
	x := r.Broke(Oversold)
	require.NotNil(t, x)
	data, err := json.Marshal(x.Schedule())
	require.NoError(t, err)
	s, err := ParseSchedule(data)
	require.NoError(t, err)
	again, err := Replay(Config{T: t}, s.Case(c.Kind), s)
	require.NoError(t, err)
	require.Equal(t, x.Steps, again.Steps)
	require.Contains(t, strings.Join(x.Tale, "\n"), " asks again.")
}

var compareAndDelete = redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`)

// majority is the least of a lock on several masters: it gives back in the background
// what an attempt that failed has got. It takes a new value for each attempt, or the
// same for all.
func majority(anew bool) locks.Kind {
	return locks.Kind{
		Name: "majority", Topologies: []cluster.Shape{cluster.Quorum},
		New: func(_ context.Context, c locks.Clients, opts locks.Options) (locks.Locker, error) {
			pauses := locks.NewJitter(opts)
			return lockFunc(func(ctx context.Context, key string, ttl time.Duration) (func(context.Context) error, error) {
				giveBack := func(ctx context.Context, value string) {
					for _, m := range c.Masters {
						go func() { compareAndDelete.Run(context.WithoutCancel(ctx), m, []string{key}, value) }()
					}
				}
				for value := rand.Text(); ctx.Err() == nil; pauses.Pause(ctx) {
					if anew {
						value = rand.Text()
					}
					votes := make(chan bool, len(c.Masters))
					for _, m := range c.Masters {
						go func() {
							ok, err := m.SetNX(context.WithoutCancel(ctx), key, value, ttl).Result()
							votes <- ok && err == nil
						}()
					}
					yes := 0
					for range c.Masters {
						if <-votes {
							yes++
						}
					}
					if yes > len(c.Masters)/2 {
						return func(ctx context.Context) error { giveBack(ctx, value); return nil }, nil
					}
					giveBack(ctx, value)
				}
				return nil, ctx.Err()
			}), nil
		},
	}
}

// lockFunc is a lock in one function, which returns what gives it back.
type lockFunc func(ctx context.Context, key string, ttl time.Duration) (func(context.Context) error, error)

func (f lockFunc) Acquire(ctx context.Context, key string, ttl time.Duration) (locks.Lease, error) {
	giveBack, err := f(ctx, key, ttl)
	if err != nil {
		return nil, err
	}
	return leaseFunc(giveBack), nil
}

func (lockFunc) Close() error { return nil }

type leaseFunc func(context.Context) error

func (leaseFunc) Lost() <-chan struct{}               { return nil }
func (f leaseFunc) Release(ctx context.Context) error { return f(ctx) }
