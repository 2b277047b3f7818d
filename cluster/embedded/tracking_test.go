package embedded_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster/embedded"
)

// tracked are commands of two clients, a and b, on a server that tells them of
// changes. Each list is played on a server of its own; what each client hears must
// be the same to the byte, replies and pushes in their order.
var tracked = map[string][]string{
	"changes": {
		"a CLIENT TRACKING ON", "a GET k", "b SET k 1", "b SET k 2", "a GET k", "a GET k", "b DEL k", "a GET k", "b SET k 1 NX", "a EXISTS k",
		"b SET k 2 NX", "b SET k 2 XX", "a GET k", "b SET k 2", "a GET k", "b PEXPIRE k 90000", "a GET k", "b PERSIST k", "a GET k", "b PERSIST k",
		"b PEXPIRE gone 1", "b DEL gone", "b INCR k", "a MGET k l", "b MSET k 1 l 2", "a GET k", "b GETDEL k", "a GET k", "b SETNX k 1", "a GET k", "b SETNX k 1",
		"b SET k 3 GET", "a GET k", "b SET k 3 NX GET", "b SET k 3 XX GET", "a HGET h f", "b HSET h f 1", "a HGET h f", "b HSET h f 1", "a GET k", "b PEXPIRE k 0",
		"b SET m 1", "a MGET m n", "b DEL n m", "a GET n", "b SET m 1", "a GET m", "b GETEX m", "b GETEX m PX 90000", "a GET m", "b ZADD z 1 m", "a ZSCORE z m", "b ZADD z 2 m",
		"a GET m", "b EVAL redis.call('DEL',KEYS[1])return(redis.call('SET',KEYS[1],'x')) 1 n",
	},
	"own": {
		"a CLIENT TRACKING ON", "a GET k", "a SET k 1", "a SET k 2", "a EVAL return(redis.call('GET',KEYS[1])) 1 k", "b SET k 1",
		"a EVAL redis.call('SET',KEYS[1],'x')return(redis.call('GET',KEYS[1])) 1 k", "a EVAL redis.call('GET',KEYS[1])return(redis.call('SET',KEYS[1],'y')) 1 k",
		"b SET k 2", "a GET k", "a DEL k",
	},
	"noloop": {
		"a CLIENT TRACKING ON OPTOUT NOLOOP", "b CLIENT TRACKING ON OPTOUT NOLOOP", "a GET k", "a SET k 1", "b SET k 2", "a GET k", "b GET k", "b SET k 3", "a SET k 4",
		"a EVAL local|r=redis.call('SET',KEYS[1],ARGV[1],'NX','PX',90000);redis.call('GET',KEYS[1]);return|r 1 l x",
		"b EVAL local|r=redis.call('SET',KEYS[1],ARGV[1],'NX','PX',90000);redis.call('GET',KEYS[1]);return|r 1 l y",
		"a EVAL if|redis.call('GET',KEYS[1])==ARGV[1]|then|local|r=redis.call('PEXPIRE',KEYS[1],95000);redis.call('GET',KEYS[1]);return|r|end;return|0 1 l x",
		"b EVAL if|redis.call('GET',KEYS[1])==ARGV[1]|then|return|redis.call('DEL',KEYS[1])|end;return|0 1 l y",
		"a EVAL if|redis.call('GET',KEYS[1])==ARGV[1]|then|return|redis.call('DEL',KEYS[1])|end;return|0 1 l x",
		"b SET l z NX", "a GET l",
	},
	"optin": {
		"a CLIENT TRACKING ON OPTIN", "a GET k", "b SET k 1", "a CLIENT CACHING YES", "a GET k", "a GET l", "b SET k 2", "b SET l 2",
		"a CLIENT CACHING YES", "a PING", "a GET k", "b SET k 3", "a CLIENT CACHING NO", "a CLIENT TRACKING ON OPTOUT",
		"a CLIENT CACHING YES", "a MULTI", "a GET k", "a GET l", "a EXEC", "b SET k 1", "b SET l 1",
	},
	"optout": {
		"a CLIENT TRACKING ON OPTOUT", "a CLIENT CACHING NO", "a GET k", "b SET k 1", "a GET k", "b SET k 2", "a CLIENT CACHING YES", "a CLIENT CACHING", "a CLIENT CACHING SOMETIMES",
	},
	"bcast": {
		"a CLIENT TRACKING ON BCAST PREFIX x PREFIX y", "b SET x1 1", "b SET z 1", "b MSET y1 1 x2 1", "b DEL none", "b DEL x1 y1", "a SET x3 1", "a CLIENT TRACKING OFF", "b SET x 1",
		"b CLIENT TRACKING ON BCAST NOLOOP", "b SET x 2", "a SET x 3", "b CLIENT TRACKING ON PREFIX x BCAST", "b CLIENT TRACKING ON BCAST PREFIX xx",
	},
	"refused": {
		"a CLIENT TRACKING", "a CLIENT TRACKING YES", "a CLIENT TRACKING ON PREFIX x", "a CLIENT TRACKING ON BCAST OPTIN", "a CLIENT TRACKING ON OPTIN OPTOUT",
		"a CLIENT TRACKING ON NOSUCH", "a CLIENT CACHING YES", "a CLIENT TRACKING ON OPTIN", "a CLIENT TRACKING ON BCAST", "a CLIENT TRACKING ON", "a CLIENT TRACKING OFF", "a GET k", "b SET k 1",
	},
	"watch": { // the library doesn't notice an expiry that GETEX sets
		"a WATCH k", "a MULTI", "a INCR n", "a EXEC", "a WATCH k", "b SET k 1", "a MULTI", "a INCR n", "a EXEC", "a WATCH k", "b SET k 1", "a MULTI",
		"a INCR n", "a EXEC", "a WATCH k", "b PEXPIRE k 90000", "a MULTI", "a INCR n", "a EXEC", "a WATCH k", "b PEXPIRE k 90000", "a MULTI", "a INCR n",
		"a EXEC", "a WATCH k", "b PERSIST k", "a MULTI", "a INCR n", "a EXEC", "a WATCH k", "b PERSIST k", "a MULTI", "a INCR n", "a EXEC", "a WATCH k",
		"b DEL gone", "a MULTI", "a INCR n", "a EXEC", "a WATCH k", "b SET k 2 NX", "a MULTI", "a INCR n", "a EXEC", "a WATCH k", "b SET k 2 XX",
		"a MULTI", "a INCR n", "a EXEC", "a WATCH k", "a UNWATCH", "a MULTI", "a INCR n", "a EXEC", "a WATCH k", "a SET k 5", "a MULTI", "a INCR n",
		"a EXEC", "a WATCH k", "a GET k", "a MULTI", "a INCR n", "a EXEC", "a WATCH k", "b EVAL return(redis.call('SET',KEYS[1],ARGV[1])) 1 k 6",
		"a MULTI", "a INCR n", "a EXEC", "a WATCH k", "b EVAL return(redis.call('GET',KEYS[1])) 1 k", "a MULTI", "a INCR n", "a EXEC", "a WATCH k",
		"b SETNX k 1", "a MULTI", "a INCR n", "a EXEC", "a WATCH k", "b GETDEL k", "a MULTI", "a INCR n", "a EXEC", "a WATCH k", "b SETNX k 1", "a MULTI",
		"a INCR n", "a EXEC", "a WATCH k", "b INCR k", "a MULTI", "a INCR n", "a EXEC", "a WATCH k", "b DECR k", "a MULTI", "a INCR n", "a EXEC",
		"a WATCH k", "b GETEX k", "a MULTI", "a INCR n", "a EXEC", "a WATCH k", "b APPEND k 1", "a MULTI", "a INCR n", "a EXEC", "a WATCH k",
		"b MSET l 1 k 2", "a MULTI", "a INCR n", "a EXEC", "a WATCH k", "b RENAME k k2", "a MULTI", "a INCR n", "a EXEC", "a WATCH k", "b RENAME k2 k",
		"a MULTI", "a INCR n", "a EXEC", "a WATCH k", "b FLUSHALL", "a MULTI", "a INCR n", "a EXEC", "a WATCH k", "b FLUSHALL", "a MULTI", "a INCR n",
		"a EXEC", "a WATCH k", "b SET k 1 PX 90000", "a MULTI", "a INCR n", "a EXEC", "a WATCH k", "b PEXPIRE k 0", "a MULTI", "a INCR n", "a EXEC",
		"a WATCH k h", "b HSET h f 1", "a MULTI", "a INCR n", "a EXEC", "a WATCH h", "b HSET h f 1", "a MULTI", "a INCR n", "a EXEC", "a WATCH h",
		"b HDEL h g", "a MULTI", "a INCR n", "a EXEC", "a WATCH z", "b ZADD z 1 m", "a MULTI", "a INCR n", "a EXEC", "a WATCH z", "b ZADD z NX 2 m",
		"a MULTI", "a INCR n", "a EXEC", "a WATCH z", "b ZREMRANGEBYSCORE z -inf 0", "a MULTI", "a INCR n", "a EXEC", "a WATCH k", "b SET k 9", "a MULTI",
		"a DISCARD", "a MULTI", "a INCR n", "a EXEC", "a MULTI", "a WATCH k", "a EXEC",
	},
	"flush": {"a CLIENT TRACKING ON", "b CLIENT TRACKING ON NOLOOP", "a GET k", "b FLUSHALL", "a FLUSHALL", "b SET k 1", "a GET k", "b FLUSHDB"},
	"transaction": {
		"a CLIENT TRACKING ON", "a MULTI", "a GET k", "a SET l 1", "a EXEC", "b MULTI", "b SET k 1", "b SET l 1", "b EXEC",
		"a MULTI", "a GET k", "a SET k 1", "a GET k", "a EXEC", "b SET k 1", "a MULTI", "a GET k", "a DISCARD", "b SET k 2",
	},
}

func TestPushesAreThoseOfARealServer(t *testing.T) {
	for name, commands := range tracked {
		t.Run(name, func(t *testing.T) {
			sim, err := embedded.NewSimulated()
			require.NoError(t, err)
			defer sim.Close()
			real, model := map[string]*raw{}, map[string]*embedded.Session{}
			first := dialReal(t)
			for _, who := range []string{"a", "b"} {
				real[who], model[who] = first, sim.Session()
				if who == "b" {
					real[who] = first.another(t)
				}
				real[who].do(t, []string{"HELLO", "3"})
				model[who].Do(nil, []string{"HELLO", "3"})
			}
			inTransaction := map[string]bool{}
			for i, line := range commands {
				who, c, _ := strings.Cut(line, " ")
				want := map[string]string{"a": "", "b": ""}
				want[who] = real[who].do(t, words(c))
				got := map[string]string{"a": "", "b": ""}
				got[who] = string(model[who].Do(nil, words(c)))
				inTransaction[who] = c == "MULTI" || inTransaction[who] && c != "EXEC" && c != "DISCARD"
				for _, hears := range []string{"a", "b"} {
					if inTransaction[hears] { // where the question would be queued
						continue
					}
					want[hears] += real[hears].pushes(t)
					for _, p := range model[hears].TakePushes() {
						got[hears] += string(p.Append(nil))
					}
				}
				if strings.HasPrefix(want[who], "-") { // words of an error may differ
					want[who], got[who] = kindOf(want[who]), kindOf(got[who])
				}
				assert.Equal(t, want, got, "%d: %s", i+1, line)
			}
		})
	}
}

// pushes reads what the server has sent unasked: all that comes before the answer
// to a question of another kind.
func (r *raw) pushes(t *testing.T) string {
	const mark = "is that all?"
	all := ""
	for reply := r.do(t, []string{"CLIENT", "NO-EVICT", mark}); ; {
		if !strings.HasPrefix(reply, ">") {
			require.Truef(t, strings.HasPrefix(reply, "-ERR"), "%q", reply)
			return all
		}
		all += reply
		var err error
		reply, err = r.read()
		require.NoError(t, err)
	}
}

func TestExpiredAndEvictedKeysAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, err := embedded.NewSimulated()
		require.NoError(t, err)
		defer sim.Close()
		c := sim.Session()
		for _, line := range []string{"HELLO 3", "CLIENT TRACKING ON NOLOOP", "SET k v PX 40", "GET k", "SET l v", "GET l", "GET none"} {
			c.Do(nil, words(line))
		}
		assert.Equal(t, []string{"k", "l", "none"}, c.Tracked())
		sim.Entries(nil)
		assert.Empty(t, c.TakePushes())
		time.Sleep(40 * time.Millisecond)
		sim.Entries(nil)
		assert.Equal(t, []embedded.Push{{Keys: []string{"k"}}}, c.TakePushes())
		sim.Delete("l")
		sim.Entries(nil)
		assert.Equal(t, []embedded.Push{{Keys: []string{"l"}}}, c.TakePushes())
		sim.Flush()
		assert.Equal(t, []embedded.Push{{}}, c.TakePushes())
		assert.Empty(t, c.Tracked())
		c.Do(nil, words("GET k"))
		c.Close()
		sim.Session().Do(nil, words("SET k w"))
		assert.Empty(t, c.TakePushes())
	})
}

func TestWithoutTrackingNothingIsWatched(t *testing.T) {
	sim, err := embedded.NewSimulated()
	require.NoError(t, err)
	defer sim.Close()
	sim.Session().Do(nil, words("SET k v"))
	assert.Zero(t, sim.Signals())
	assert.False(t, sim.Session().Tracks())
}

// A client that looks for a cluster finds none, and a version.
func TestASimulatedServerIsNoCluster(t *testing.T) {
	sim, err := embedded.NewSimulated()
	require.NoError(t, err)
	defer sim.Close()
	assert.Equal(t, dialReal(t).do(t, words("CLUSTER SLOTS")), string(sim.Session().Do(nil, words("CLUSTER SLOTS"))))
	assert.Contains(t, string(sim.Session().Do(nil, words("INFO server"))), "redis_version:8.")
}
