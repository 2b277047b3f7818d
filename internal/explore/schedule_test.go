package explore

import (
	"context"
	"encoding/json"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/process"
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
			replayOnProcess(t, c.lock, s)
		})
	}
}

func replayOnProcess(t *testing.T, lock string, s Schedule) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("needs redis-server on PATH")
	}
	shape := cluster.Single
	if s.Masters > 0 {
		shape = cluster.Quorum
	}
	cl, err := process.New().Start(t.Context(), cluster.Spec{Run: "explore-" + time.Now().Format("150405.000000"), Name: "lock-1", Shape: shape})
	t.Cleanup(func() { require.NoError(t, cl.Close(context.Background())) })
	require.NoError(t, err)
	real, err := ReplayReal(t.Context(), s.Case(kind(t, lock)), s, cl)
	require.NoError(t, err)
	require.Truef(t, real.Confirmed, "%s\n%v", real.Verdict(), real.Lines)
	require.Contains(t, real.Verdict(), "confirmed on ")
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
