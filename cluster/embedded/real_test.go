package embedded_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster/embedded"
	"github.com/oversell/oversell/internal/redistest"
)

// compared are the commands that locks are made of. Each list is played on a
// server of its own from the beginning; replies must be the same to the byte.
// Times are long, so that no reply depends on how fast the machine is.
var compared = map[string][]string{
	"set": {
		"SET k a NX PX 90000", "SET k b NX PX 90000", "GET k", "SET k c XX PX 90000", "GET k", "SET gone c XX", "SET k d NX EX 90",
		"SET k e NX GET", "SET k f GET", "GET k", "SET k g KEEPTTL", "TTL k", "SET k h PX 0", "SET k h PX -1", "SET k h PX x",
		"SET k h NX XX", "SET k h PX 1 EX 1", "SET k", "SET k h SOMETIMES", "SET k h PX", "GET k",
		"set k lower px 90000", "GET k", "GETDEL k", "GETDEL k", "SETNX k i", "SETNX k j", "GETSET k l", "GET k",
		"SETEX k 90 m", "SETEX k 0 m", "PSETEX k 90000 n", "GETEX k PX 80000", "TTL k", "GETEX k PERSIST", "TTL k", "APPEND k x", "STRLEN k",
	},
	"expiry": {
		"PEXPIRE k 1000", "SET k a", "PTTL k", "TTL k", "PTTL gone", "TTL gone", "PEXPIRE k 90000", "TTL k", "EXPIRE k 80", "TTL k",
		"PERSIST k", "PERSIST k", "TTL k", "PERSIST gone", "PEXPIRE k 90000", "SET k b", "TTL k", "EXPIRE k 90", "PEXPIRE k 90000 NX",
		"PEXPIRE k 90000 XX", "PEXPIRE k 1000 GT", "PEXPIRE k 95000 GT", "TTL k", "PEXPIRE k 90000 LT", "TTL k", "PEXPIRE k x",
		"PEXPIRE k 0", "EXISTS k", "SET k a", "PEXPIRE k -1", "EXISTS k", "SET k a PX 90400", "TTL k", "SET k a PX 90700", "TTL k",
		"SET k a", "PEXPIREAT k 1000", "EXISTS k", "SET k a", "EXPIREAT k 99999999999", "PEXPIREAT k 99999999999000", "EXISTS k",
	},
	"delete": {
		"SET a 1", "SET b 2", "DEL a b c", "DEL a", "SET a 1", "UNLINK a a", "EXISTS a", "SET a 1", "SET b 1", "EXISTS a a b c", "FLUSHALL", "EXISTS a b",
		"INCR n", "INCR n", "INCRBY n 5", "DECR n", "SET n x", "INCR n", "TYPE n", "TYPE none",
	},
	"hash": {
		"HSET h a 1 b 2", "HSET h a 2", "HGET h a", "HGET h c", "HSETNX h a 3", "HSETNX h d 3", "HINCRBY h b 3", "HINCRBY h b -5", "HEXISTS h b",
		"HDEL h a b d", "EXISTS h", "HSET h a 1", "GET h", "PEXPIRE h 90000", "TTL h", "SET h now-a-string", "HGET h a", "HGETALL gone",
	},
	"eval": {
		"EVAL return(1) 0", "EVAL return(nil) 0", "EVAL return(false) 0", "EVAL return(true) 0", "EVAL return(3.99) 0", "EVAL return(-3.99) 0",
		"EVAL return('text') 0", "EVAL return{1,'a',{2,nil,3}} 0", "EVAL return{1,false,2} 0", "EVAL return{ok='FINE'} 0", "EVAL return{err='BAD|no'} 0",
		"EVAL return(redis.status_reply('S')) 0", "EVAL return(redis.error_reply('ERR|e')) 0",
		"EVAL return(KEYS[1]..ARGV[1]) 1 k v", "EVAL return(#KEYS) 2 a b c", "EVAL return(#ARGV) 2 a b c", "EVAL return(ARGV[2]) 0 a",
		"EVAL return(1) x", "EVAL return(1) 2 a", "EVAL return(1) -1", "EVAL",
		"EVAL return(redis.call('GET',KEYS[1])) 1 k", "EVAL return(redis.call('GET',KEYS[1])==false) 1 k",
		"SET k mine PX 90000", "EVAL return(redis.call('GET',KEYS[1])==ARGV[1]) 1 k mine", "EVAL return(redis.call('PEXPIRE',KEYS[1],ARGV[1])) 1 k 80000",
		"EVAL return(redis.call('PTTL',KEYS[1])>79000) 1 k", "EVAL return(redis.call('SET',KEYS[1],'x','NX','PX',1000)) 1 k",
		"EVAL return(redis.call('SET',KEYS[1],'x','XX','PX',90000)) 1 k", "EVAL return(redis.call('DEL',KEYS[1],'none')) 1 k",
		"EVAL return(redis.pcall('INCR',KEYS[1])) 1 k", "EVAL return(redis.call('HGETALL','none')) 0", "EVAL return(tonumber('12')) 0",
		"EVAL return(redis.call('EXISTS',KEYS[1])) 1 gone",
	},
	"evalsha": {
		"EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0", "SCRIPT|LOAD return(1)", "SCRIPT|EXISTS 55aa73fcd264d5f08c25785d49fef95a94c8a3b5 0000000000000000000000000000000000000000",
		"EVALSHA 55aa73fcd264d5f08c25785d49fef95a94c8a3b5 0", "EVALSHA 55AA73FCD264D5F08C25785D49FEF95A94C8A3B5 0", "FLUSHALL",
		"EVALSHA 55aa73fcd264d5f08c25785d49fef95a94c8a3b5 0", "SCRIPT|FLUSH", "EVALSHA 55aa73fcd264d5f08c25785d49fef95a94c8a3b5 0",
		"EVAL return(1) 0", "EVALSHA 55aa73fcd264d5f08c25785d49fef95a94c8a3b5 0",
	},
	"transaction": {
		"MULTI", "SET k a", "GET k", "EXEC", "MULTI", "SET k b", "DISCARD", "GET k", "EXEC", "DISCARD", "MULTI", "MULTI", "EXEC",
		"WATCH k", "SET k c", "MULTI", "GET k", "EXEC", "WATCH k", "MULTI", "GET k", "EXEC", "MULTI", "NOSUCHCOMMAND", "EXEC",
	},
	"unknown": {"NOSUCHCOMMAND", "DELIFEQ k", "GET", "PING", "PING hello", "ECHO a"},
}

// loose are lists in which the words of an error may differ.
var loose = map[string]bool{"unknown": true, "set": true, "expiry": true, "eval": true, "transaction": true, "delete": true, "hash": true}

// differs reports whether the replies differ in a way that is known, and on which
// no lock is known to rest: want is the real server's.
func differs(command, want, got string) bool {
	switch command {
	case "SET k h NX XX": // refused as a whole, or by its first condition
		return strings.HasPrefix(want, "-ERR") && (got == "$-1\r\n" || got == "_\r\n")
	case "EXEC": // of a transaction with a command that was refused, or whose watched key has changed
		return strings.HasPrefix(want, "-EXECABORT") && got == "*0\r\n" || want == "_\r\n" && got == "*-1\r\n"
	}
	return false
}

func TestRepliesAreThoseOfARealServer(t *testing.T) {
	for name, commands := range compared {
		for _, protocol := range []string{"2", "3"} {
			t.Run(name+"/RESP"+protocol, func(t *testing.T) {
				real := dialReal(t)
				sim, err := embedded.NewSimulated()
				require.NoError(t, err)
				defer sim.Close()
				session := sim.Session()
				real.do(t, []string{"HELLO", protocol})
				session.Do(nil, []string{"HELLO", protocol})
				for _, c := range commands {
					args := words(c)
					want, got := real.do(t, args), string(session.Do(nil, args))
					if differs(c, want, got) {
						continue
					}
					if loose[name] && strings.HasPrefix(want, "-") {
						// The kind of an error is what clients look at.
						want, got = kindOf(want), kindOf(got)
					}
					assert.Equal(t, want, got, c)
				}
			})
		}
	}
}

// words splits a command at spaces; | stands for a space inside of a word, but
// for the command's own name.
func words(c string) []string {
	args := strings.Fields(c)
	if first, second, two := strings.Cut(args[0], "|"); two {
		args = append([]string{first, second}, args[1:]...)
	}
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "|", " ")
	}
	return args
}

func kindOf(reply string) string {
	kind, _, _ := strings.Cut(reply, " ")
	return strings.TrimSpace(kind)
}

// raw is a connection on which replies are read to the byte.
type raw struct {
	server *redistest.Server
	conn   net.Conn
	in     *bufio.Reader
}

func dialReal(t *testing.T) *raw {
	t.Helper()
	return (&raw{server: redistest.Process(t)}).another(t)
}

// another is a second connection to the same server.
func (r *raw) another(t *testing.T) *raw {
	t.Helper()
	conn, err := r.server.Dial(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &raw{r.server, conn, bufio.NewReader(conn)}
}

func (r *raw) do(t *testing.T, args []string) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	require.NoError(t, r.conn.SetDeadline(time.Now().Add(10*time.Second)))
	_, err := io.WriteString(r.conn, b.String())
	require.NoError(t, err)
	reply, err := r.read()
	require.NoError(t, err)
	return reply
}

// read reads one reply, with all that is in it.
func (r *raw) read() (string, error) {
	line, err := r.in.ReadString('\n')
	if err != nil {
		return "", err
	}
	n, _ := strconv.Atoi(strings.TrimSpace(line[1:]))
	switch line[0] {
	case '$', '=':
		if n < 0 {
			return line, nil
		}
		body := make([]byte, n+2)
		_, err := io.ReadFull(r.in, body)
		return line + string(body), err
	case '%':
		n *= 2
		fallthrough
	case '*', '~', '>':
		for range n {
			part, err := r.read()
			if err != nil {
				return "", err
			}
			line += part
		}
	}
	return line, nil
}

// A key's last moment: on both servers it is there a millisecond before its
// time, and gone a millisecond after it.
//
// At the exact millisecond they differ, and nothing rests on it: a real server
// keeps the key for the whole of that millisecond, the simulated one doesn't.
func TestAKeysLastMoment(t *testing.T) {
	for _, set := range [][]string{
		{"SET k v NX PX 40"}, {"SET k v", "PEXPIRE k 40"}, {"SET k v PX 90000", "PEXPIRE k 40"}, {"PSETEX k 40 v"},
		{"SET k v PX 90000", "EVAL return(redis.call('PEXPIRE',KEYS[1],ARGV[1])) 1 k 40"},
	} {
		t.Run(set[len(set)-1], func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { lastMomentSimulated(t, set) })
			lastMomentReal(t, set)
		})
	}
}

func lastMomentSimulated(t *testing.T, set []string) {
	sim, err := embedded.NewSimulated()
	require.NoError(t, err)
	defer sim.Close()
	c := sim.Session()
	for _, s := range set {
		c.Do(nil, words(s))
	}
	time.Sleep(40*time.Millisecond - time.Nanosecond)
	require.Equal(t, ":1\r\n", string(c.Do(nil, words("EXISTS k"))), "a nanosecond before its time")
	require.Len(t, sim.Entries(nil), 1)
	time.Sleep(time.Nanosecond)
	require.Equal(t, ":0\r\n", string(c.Do(nil, words("EXISTS k"))), "when its time has come")
	require.Empty(t, sim.Entries(nil))
	require.Equal(t, ":-2\r\n", string(c.Do(nil, words("PTTL k"))))
}

// lastMomentReal asks a real server for its clock and the key in one step, so
// that it doesn't matter how busy the machine is.
func lastMomentReal(t *testing.T, set []string) {
	r := dialReal(t)
	const look = `local t = redis.call('TIME') return {t[1] * 1000 + math.floor(t[2] / 1000), redis.call('EXISTS', 'k')}`
	now := func() (ms int64, there bool) {
		reply := strings.Split(r.do(t, []string{"EVAL", look, "0"}), "\r\n")
		ms, err := strconv.ParseInt(reply[1][1:], 10, 64)
		require.NoError(t, err)
		return ms, reply[2] == ":1"
	}
	earliest, _ := now()
	for _, s := range set {
		r.do(t, words(s))
	}
	latest, there := now()
	for seen, before := there, latest; ; {
		// The server looked at the key between the two times.
		ms, there := now()
		if ms < earliest+40 {
			require.True(t, there, "%d ms after it was set", ms-earliest)
			seen = true
		}
		if before > latest+40 {
			require.False(t, there, "%d ms after it was set", before-latest)
			require.True(t, seen, "the key was never there")
			return
		}
		before = ms
	}
}
