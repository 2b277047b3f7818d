package embedded_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster/embedded"
)

// What a session watches, and whether it has changed, is what its EXEC goes by.
func TestWatches(t *testing.T) {
	s, err := embedded.NewSimulated()
	require.NoError(t, err)
	t.Cleanup(s.Close)
	a, b := s.Session(), s.Session()
	do := func(c *embedded.Session, args ...string) string { return string(c.Do(nil, args)) }
	require.Empty(t, a.Watches())

	for _, changed := range []bool{false, true} {
		do(b, "SET", "k", "1")
		do(a, "WATCH", "l", "k")
		require.Equal(t, []embedded.Watch{{Key: "k"}, {Key: "l"}}, a.Watches())
		require.Empty(t, b.Watches())
		if changed {
			do(b, "SET", "k", "1") // the same as before
			require.Equal(t, []embedded.Watch{{Key: "k", Changed: true}, {Key: "l"}}, a.Watches())
		}
		do(a, "MULTI")
		do(a, "SET", "m", "1")
		require.Equal(t, changed, do(a, "EXEC") == "*-1\r\n")
		require.Empty(t, a.Watches())
	}

	do(a, "WATCH", "k")
	s.Delete("k")
	require.Equal(t, []embedded.Watch{{Key: "k", Changed: true}}, a.Watches())
	do(a, "UNWATCH")
	require.Empty(t, a.Watches())
}

// Of the commands in scripts those are counted that may write.
func TestScriptWrites(t *testing.T) {
	s, err := embedded.NewSimulated()
	require.NoError(t, err)
	t.Cleanup(s.Close)
	c := s.Session()
	writes := func(args ...string) uint64 {
		before := s.ScriptWrites()
		c.Do(nil, args)
		return s.ScriptWrites() - before
	}
	require.EqualValues(t, 0, writes("SET", "k", "1"))
	require.EqualValues(t, 0, writes("EVAL", "return redis.call('GET', KEYS[1])", "1", "k"))
	require.EqualValues(t, 1, writes("EVAL", "redis.call('PTTL', KEYS[1]) return redis.call('SET', KEYS[1], 'x', 'NX')", "1", "k"))
	require.EqualValues(t, 2, writes("EVAL", "redis.call('PEXPIRE', KEYS[1], 1000) return redis.call('DEL', KEYS[1])", "1", "k"))
}
