package explore

import (
	"context"
	"encoding/json"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/process"
	"github.com/oversell/oversell/locks"
)

func TestParseHazards(t *testing.T) {
	bs, err := ParseHazards([]string{"expiry=2", "crash"})
	require.NoError(t, err)
	require.Equal(t, []Budget{{Crash, 1}, {Expiry, 2}}, bs)
	bs, err = ParseHazards([]string{"all"})
	require.NoError(t, err)
	require.Len(t, bs, len(Hazards()))
	bs, err = ParseHazards([]string{"none"})
	require.NoError(t, err)
	require.Empty(t, bs)
	_, err = ParseHazards([]string{"rain"})
	require.EqualError(t, err, `no hazard is called "rain"`)
	for _, bad := range []string{"crash=0", "crash=x", "crash=10"} {
		_, err = ParseHazards([]string{bad})
		require.Error(t, err, bad)
	}
}

func TestEventsAreReadAsWritten(t *testing.T) {
	for a := deliver; a <= evict; a++ {
		for _, e := range []event{makeEvent(a, 0, 0), makeEvent(a, 3, 0), makeEvent(a, 3, 1).at(4)} {
			if e.buyer() == 0 && (a <= giveBack || a == crash || a == delay || a == loseReply || a == loseSend) {
				continue
			}
			got, err := parseEvent(e.String())
			require.NoError(t, err)
			require.Equal(t, e.act(), got.act())
			require.Equal(t, e.buyer(), got.buyer())
			require.Equal(t, e.master(), got.master())
		}
	}
	for _, bad := range []string{"", "deliver 9.0", "deliver 1.x", "rain", "crash x", "restart@0", "restart@6", "deliver 1.0@x"} {
		_, err := parseEvent(bad)
		require.Error(t, err, bad)
	}
}

func TestParseCommand(t *testing.T) {
	text := func(b []byte) string { return string(b) }
	args, n, err := parseCommand([]byte("*2\r\n$3\r\nGET\r\n$1\r\nk\r\nrest"), text)
	require.NoError(t, err)
	require.Equal(t, []string{"GET", "k"}, args)
	require.Equal(t, 20, n)
	for i := range 20 {
		_, n, err := parseCommand([]byte("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n")[:i], text)
		require.NoError(t, err)
		require.Zero(t, n, "a command that isn't all there")
	}
	_, _, err = parseCommand([]byte("GET k\r\n"), text)
	require.Error(t, err)
}

// A schedule is found, saved, read and played again, in a bubble and on a real server.
func TestReplay(t *testing.T) {
	for _, c := range []struct {
		lock, hazard string
		p            Property
		masters      int
	}{
		{"setnx-expire-del", "slow-call", Oversold, 0},
		{"setnx-expire-del", "slow-call", ForeignRelease, 0},
		{"setnx-expire-del", "crash", Stalled, 0},
		{"lua-watchdog", "delay", Oversold, 0},
		{"get-then-del", "delay", ForeignRelease, 0},
		{"lua-release", "restart", Oversold, 0},
		{"rueidislock", "eviction", Oversold, 0},
		{"redislock", "expiry", Oversold, 0},
		{"constant-value", "restart", ForeignRelease, 0},
		{"redsync", "slow-call", Oversold, 3},
		{"redsync-extend", "eviction", Oversold, 3},
	} {
		t.Run(c.lock+"/"+c.hazard+"/"+string(c.p), func(t *testing.T) {
			t.Parallel() // most of the time a key is waited for that expires
			is := two(t, kind(t, c.lock), c.hazard)
			is.Masters = c.masters
			x := explored(t, is, Config{}).Broke(c.p)
			require.NotNil(t, x)
			data, err := json.Marshal(x.Schedule())
			require.NoError(t, err)
			s, err := ParseSchedule(data)
			require.NoError(t, err)
			require.Equal(t, x.Schedule(), s)

			again, err := Replay(Config{T: t}, s.Case(kind(t, s.Lock)), s)
			require.NoError(t, err)
			require.Equal(t, x.Tale, again.Tale)
			require.Equal(t, x.Steps, again.Steps)
			confirmedOnProcess(t, s.Case(kind(t, c.lock)), s)
		})
	}
}

// What a buyer has given up on, and what it sends after that, are told apart on a real
// server too, and the former arrives though nobody waits for it.
func TestReplayOfWhatNobodyWaitsFor(t *testing.T) {
	t.Parallel()
	impatient := badKind(func(ctx context.Context, c locks.Clients, key string, ttl time.Duration) error {
		ctx, cancel := context.WithTimeout(ctx, ttl/4)
		defer cancel()
		return c.Redis.SetArgs(ctx, key, "mine", redis.SetArgs{Mode: "NX"}).Err()
	})
	c := two(t, impatient)
	set := func(buyer string, unheard bool) Step {
		return Step{Pick: "deliver " + buyer + ".0", Command: "SET", Unheard: unheard}
	}
	stalls := Schedule{Property: Stalled, Steps: []Step{set("1", true), set("2", false), set("1", false)}}
	real := replayOnProcess(t, c, stalls)
	require.Truef(t, real.Confirmed, "%s\n%v", real.Verdict(), real.Lines)
	require.Equal(t, []string{" 1  A: SET → OK", " 2  B: SET → (nil)", " 3  A: SET → (nil)"}, real.Lines)

	heard := Schedule{Property: Stalled, Steps: []Step{set("1", false), set("2", true)}}
	real = replayOnProcess(t, c, heard)
	require.False(t, real.Confirmed)
	require.Equal(t, []string{" 1  A: SET → OK", " 2  B: SET → (nil)"}, real.Lines)
	require.Contains(t, real.Verdict(), "somebody could buy after all")
}

// A server that hasn't got what the lock needs confirms nothing, and says why.
func TestReplayOnAServerThatLacksSomething(t *testing.T) {
	x := explored(t, two(t, kind(t, "exset-excad"), "expiry"), Config{}).Broke(Oversold)
	require.NotNil(t, x)
	s := x.Schedule()
	real := replayOnProcess(t, s.Case(kind(t, "exset-excad")), s)
	require.False(t, real.Confirmed)
	require.Contains(t, real.Verdict(), "the lock needs EXSET, and the server says ")
}

// A transaction is one step of a schedule, and several commands to a server. A restart
// ends what is watched. And time really passes also where no key expires, as a lock may
// go by its own clock.
func TestReplayOfFolk(t *testing.T) {
	for _, f := range folks() {
		for _, hazard := range map[string][]string{"watch": {"slow-call", "restart"}, "timestamps": {"slow-call"}}[f.name] {
			t.Run(f.name+"/"+hazard, func(t *testing.T) {
				t.Parallel()
				x := explored(t, two(t, f.kind(), hazard), Config{}).Broke(Oversold)
				require.NotNil(t, x)
				require.Equal(t, f.name == "watch", slices.ContainsFunc(x.Steps, func(s Step) bool { return s.Command == "MULTI" }))
				confirmedOnProcess(t, x.Case, x.Schedule())
			})
		}
	}
}

// What a lock asks the server when it is made is no part of a schedule.
func TestReplayOfALockThatLooksAtTheServerFirst(t *testing.T) {
	t.Parallel()
	k := kind(t, "constant-value")
	without := k.New
	k.New = func(ctx context.Context, c locks.Clients, o locks.Options) (locks.Locker, error) {
		if err := c.Redis.Echo(ctx, "anybody there?").Err(); err != nil {
			return nil, err
		}
		return without(ctx, c, o)
	}
	x := explored(t, two(t, k, "expiry"), Config{}).Broke(Oversold)
	require.NotNil(t, x)
	confirmedOnProcess(t, x.Case, x.Schedule())
}

// A lock that doesn't work on the real server at all doesn't keep anybody waiting.
func TestReplayOfALockThatDoesNotWorkThere(t *testing.T) {
	t.Parallel()
	x := explored(t, two(t, kind(t, "constant-value"), "expiry"), Config{}).Broke(Oversold)
	require.NotNil(t, x)
	s := x.Schedule()
	never := badKind(func(ctx context.Context, c locks.Clients, _ string, _ time.Duration) error {
		return c.Redis.Do(ctx, "no-such-command").Err()
	})
	real := replayOnProcess(t, s.Case(never), s)
	require.False(t, real.Confirmed)
	require.Contains(t, real.Verdict(), "with nobody else about, A couldn't buy within 11s")
}

func confirmedOnProcess(t *testing.T, c Case, s Schedule) {
	t.Helper()
	real := replayOnProcess(t, c, s)
	require.Truef(t, real.Confirmed, "%s\n%v", real.Verdict(), real.Lines)
	require.Contains(t, real.Verdict(), "confirmed on ")
}

func replayOnProcess(t *testing.T, c Case, s Schedule) *Real {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("needs redis-server on PATH")
	}
	cl, err := process.New().Start(t.Context(), cluster.Spec{Run: "explore-" + time.Now().Format("150405.000000"), Name: "lock-1", Shape: c.Shape()})
	t.Cleanup(func() { require.NoError(t, cl.Close(context.Background())) })
	require.NoError(t, err)
	real, err := ReplayReal(t.Context(), c, s, cl)
	require.NoError(t, err)
	return real
}

// A lock that has been repaired isn't broken by its old schedule any more.
func TestReplayOfAnotherLock(t *testing.T) {
	x := explored(t, two(t, kind(t, "lua-release"), "slow-call"), Config{}).Broke(Oversold)
	require.NotNil(t, x)
	s := x.Schedule()
	_, err := Replay(Config{T: t}, s.Case(kind(t, "lua-watchdog")), s)
	require.Error(t, err)
}

func TestWhatIsNoSchedule(t *testing.T) {
	for _, bad := range []string{"", "{}", `{"schema":"oversell.schedule/v1"}`, `{"schema":"oversell.schedule/v1","buyers":1,"steps":[{"pick":"deliver 2.0"}]}`} {
		_, err := ParseSchedule([]byte(bad))
		require.Error(t, err, bad)
	}
}
