package diagnose_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/oversell/oversell/internal/diagnose"
	"github.com/oversell/oversell/internal/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// looking is a client as the command uses it.
func looking(o *redis.Options) { o.Protocol, o.PoolSize = 2, 2 }

func examine(t *testing.T, s *redistest.Server, o diagnose.Options) diagnose.Report {
	t.Helper()
	o.Target = "redis://test"
	r, err := diagnose.Examine(t.Context(), s.Client(t, looking), o)
	require.NoError(t, err)
	return r
}

// diagnosed is what is found through a connection that is there.
func diagnosed(t *testing.T, c *redis.Client) diagnose.Report {
	t.Helper()
	r, err := diagnose.Examine(t.Context(), c, diagnose.Options{})
	require.NoError(t, err)
	return r
}

// says reports whether a finding of that level has the text.
func says(r diagnose.Report, l diagnose.Level, text string) bool {
	for _, f := range r.Findings {
		if f.Level == l && strings.Contains(f.About+": "+f.Text, text) {
			return true
		}
	}
	return false
}

func set(t *testing.T, c *redis.Client, args ...any) {
	t.Helper()
	require.NoError(t, c.Do(t.Context(), args...).Err())
}

func TestKeysOnRedis(t *testing.T) {
	t.Parallel()
	s := redistest.Process(t)
	c := s.Client(t, nil)
	set(t, c, "SET", "lock:stock:1", "a", "PX", 600_000)
	set(t, c, "SET", "lock:stock:2", "b")
	set(t, c, "HSET", "redisson:lock:3", "thread", 1)
	set(t, c, "SET", "blocked:ip", "x")
	set(t, c, "SADD", "lock:set", "x")
	time.Sleep(1200 * time.Millisecond) // idle times are whole seconds
	r := examine(t, s, diagnose.Options{})
	assert.Equal(t, diagnose.Ailing, r.Verdict)
	assert.True(t, says(r, diagnose.Problem, "keys: 2 lock keys have no TTL"), "%+v", r.Findings)
	assert.True(t, r.Keys.Scanned)
	assert.True(t, r.Keys.Guessed)
	assert.Equal(t, 3, r.Keys.Locks)
	assert.Empty(t, r.Unasked)
	for _, k := range r.Keys.Eternal {
		if assert.NotNil(t, k.IdleS) {
			assert.Positive(t, *k.IdleS, "looking at a key doesn't count as touching it")
		}
		assert.Contains(t, []string{"lock:stock:2", "redisson:lock:3"}, k.Key)
	}

	// A prefix is no pattern.
	r = examine(t, s, diagnose.Options{Prefixes: []string{"lock:*"}})
	assert.Zero(t, r.Keys.Locks)
	assert.Equal(t, diagnose.Healthy, r.Verdict)
	r = examine(t, s, diagnose.Options{Prefixes: []string{"blocked:", "lock:stock:1"}})
	assert.Equal(t, 2, r.Keys.Locks)
	assert.True(t, says(r, diagnose.Problem, `1 lock key has no TTL, such as "blocked:ip"`))
}

// Holders are told apart by their value, and renewals by a TTL that grows.
func TestHoldersOnRedis(t *testing.T) {
	t.Parallel()
	s := redistest.Process(t)
	c := s.Client(t, nil)
	set(t, c, "SET", "lock:held", "a", "PX", 400_000)
	set(t, c, "SET", "lock:renewed", "a", "PX", 10_000)
	set(t, c, "SET", "lock:passed-on", "a", "PX", 400_000)
	// Whatever looks, looks three times: the hook changes the keys after the first look.
	gets := 0
	looker := s.Client(t, looking)
	looker.AddHook(pipelines(func(cmds []redis.Cmder) {
		if cmds[len(cmds)-1].Name() != "get" {
			return
		}
		if gets++; gets == 1 {
			set(t, c, "PEXPIRE", "lock:renewed", 20_000)
			set(t, c, "SET", "lock:passed-on", "b", "PX", 400_000)
		}
	}))
	r, err := diagnose.Examine(t.Context(), looker, diagnose.Options{TTL: 500 * time.Second, Sample: 300 * time.Millisecond})
	require.NoError(t, err)
	require.Len(t, r.Keys.Longest, 3)
	byKey := map[string]diagnose.Holder{}
	for _, h := range r.Keys.Longest {
		byKey[h.Key] = h
		assert.False(t, h.Unsure)
	}
	assert.GreaterOrEqual(t, byKey["lock:held"].HeldMS, int64(100_000+300), "what had gone of the TTL, and the sample")
	assert.Equal(t, 1, byKey["lock:renewed"].Renewals)
	assert.Zero(t, byKey["lock:held"].Renewals)
	assert.Zero(t, byKey["lock:passed-on"].Renewals, "that is another holder")
	assert.Less(t, byKey["lock:passed-on"].HeldMS, byKey["lock:held"].HeldMS)
	assert.Equal(t, "lock:renewed", r.Keys.Longest[0].Key, "490 s of its 500 had gone")
	assert.True(t, says(r, diagnose.Risk, `keys: 1 lock is held for 80 % of the TTL of 8m20s or more, such as "lock:renewed"`), "%+v", r.Findings)
}

// pipelines calls a function after every pipeline.
type pipelines func([]redis.Cmder)

func (p pipelines) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (p pipelines) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (p pipelines) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		p(cmds)
		return err
	}
}

func TestServerOnRedis(t *testing.T) {
	t.Parallel()
	s := redistest.Process(t)
	c := s.Client(t, nil)
	r := examine(t, s, diagnose.Options{})
	assert.Equal(t, diagnose.Healthy, r.Verdict)
	assert.NotEmpty(t, r.Server.Version)
	assert.Equal(t, "master", r.Server.Role)
	assert.Len(t, r.Server.PingMS, 5)
	assert.True(t, says(r, diagnose.Risk, "persistence: nothing is kept on disk"))
	assert.True(t, says(r, diagnose.Risk, "replication: it has no replica"))
	assert.Equal(t, "none", r.Server.Persistence)

	set(t, c, "CONFIG", "SET", "maxmemory", "1gb")
	set(t, c, "CONFIG", "SET", "maxmemory-policy", "volatile-lru")
	r = examine(t, s, diagnose.Options{})
	assert.Equal(t, diagnose.Ailing, r.Verdict)
	assert.True(t, says(r, diagnose.Problem, "volatile-lru evicts keys with a TTL before all others"), "%+v", r.Findings)
	set(t, c, "CONFIG", "SET", "maxmemory-policy", "noeviction")
	assert.Equal(t, diagnose.Healthy, examine(t, s, diagnose.Options{}).Verdict)
	set(t, c, "CONFIG", "SET", "maxmemory", *r.Server.Memory.Used+100)
	assert.True(t, says(examine(t, s, diagnose.Options{}), diagnose.Problem, "memory: "))
	set(t, c, "CONFIG", "SET", "maxmemory", 0)

	set(t, c, "CONFIG", "SET", "save", "60 1")
	assert.True(t, says(examine(t, s, diagnose.Options{}), diagnose.Risk, "only snapshots are kept"))

	set(t, c, "REPLICAOF", "127.0.0.1", "1")
	r = examine(t, s, diagnose.Options{})
	assert.True(t, says(r, diagnose.Risk, "replication: this is a replica, of 127.0.0.1:1"))
	assert.True(t, says(r, diagnose.Problem, "replication: the link to its master is down"))
}

func TestConnectionsAndSlowLogOnRedis(t *testing.T) {
	t.Parallel()
	s := redistest.Process(t)
	c := s.Client(t, func(o *redis.Options) { o.ClientName = "shop" })
	set(t, c, "CONFIG", "SET", "slowlog-log-slower-than", 0)
	set(t, c, "SET", "lock:stock:1", "top secret", "PX", 600_000)
	set(t, c, "EVAL", "return redis.call('GET', KEYS[1])", 1, "lock:stock:1", "another secret")
	set(t, c, "CONFIG", "SET", "slowlog-log-slower-than", 1_000_000)
	r := examine(t, s, diagnose.Options{})
	var mine *diagnose.Group
	for i, g := range r.Connections.Groups {
		if g.Name == "shop" {
			mine = &r.Connections.Groups[i]
		}
	}
	require.NotNil(t, mine, "%+v", r.Connections.Groups)
	assert.Equal(t, 1, mine.Count)
	assert.NotNil(t, r.Connections.Max)
	var commands []string
	for _, e := range r.SlowLog.Slowest {
		commands = append(commands, e.Command)
	}
	assert.Contains(t, commands, "SET lock:stock:1 (3 more)")
	assert.Contains(t, commands, "EVAL (script) lock:stock:1 (1 more)")
	assert.True(t, says(r, diagnose.Risk, "slow log: "))
	var text, doc, page strings.Builder
	require.NoError(t, r.Text(&text))
	require.NoError(t, r.JSON(&doc))
	require.NoError(t, r.HTML(&page))
	for _, out := range []string{text.String(), doc.String(), page.String()} {
		assert.NotContains(t, out, "secret")
		assert.Contains(t, out, "shop")
	}

	set(t, c, "CONFIG", "SET", "maxclients", *r.Connections.Connected+2)
	for range 8 * 2 { // as many as go
		if conn, err := s.Dial(t.Context()); err == nil {
			t.Cleanup(func() { _ = conn.Close() })
		}
	}
	assert.True(t, says(diagnosed(t, c), diagnose.Problem, "connections: "))
}

// Whatever isn't allowed is named, and what could have been a problem makes the
// verdict unknown.
func TestRestrictedUserOnRedis(t *testing.T) {
	t.Parallel()
	s := redistest.Process(t)
	c := s.Client(t, nil)
	set(t, c, "SET", "lock:stock:1", "a")
	as := func(rules ...any) diagnose.Report {
		t.Helper()
		set(t, c, append([]any{"ACL", "SETUSER", "ops", "reset", "on", ">pw"}, rules...)...)
		client := s.Client(t, func(o *redis.Options) {
			looking(o)
			o.Username, o.Password = "ops", "pw"
		})
		r, err := diagnose.Examine(t.Context(), client, diagnose.Options{})
		require.NoError(t, err)
		return r
	}
	asked := func(r diagnose.Report) []string {
		var names []string
		for _, u := range r.Unasked {
			names = append(names, u.Command)
			assert.Contains(t, u.Why, "NOPERM")
		}
		return names
	}
	r := as("+ping")
	assert.Equal(t, diagnose.Unclear, r.Verdict)
	assert.ElementsMatch(t, []string{"INFO", "CONFIG GET", "DBSIZE", "CLIENT LIST", "SLOWLOG GET", "SCAN"}, asked(r))

	r = as("+@read", "+ping", "+info", "~lock:*")
	assert.Equal(t, diagnose.Ailing, r.Verdict, "%+v", r.Unasked)
	assert.True(t, says(r, diagnose.Problem, "lock:stock:1"))

	// Keys may be listed, but their TTL isn't to be had.
	r = as("+ping", "+info", "+scan", "~other:*")
	assert.Equal(t, diagnose.Unclear, r.Verdict)
	assert.Contains(t, asked(r), "PTTL")
	require.NoError(t, c.Del(t.Context(), "lock:stock:1").Err())
	r = as("+ping", "+info", "+scan")
	assert.Equal(t, diagnose.Healthy, r.Verdict, "there is no lock whose TTL could be asked: %+v", r.Unasked)
}

// Miniredis lacks most of what there is to ask.
func TestAServerThatKnowsLittle(t *testing.T) {
	t.Parallel()
	s := redistest.Mini(t)
	c := s.Client(t, nil)
	set(t, c, "SET", "lock:1", "a", "PX", 60_000)
	r := examine(t, s, diagnose.Options{})
	assert.Equal(t, diagnose.Unclear, r.Verdict)
	assert.Equal(t, 1, r.Keys.Locks)
	assert.NotEmpty(t, r.Unasked)
	set(t, c, "SET", "lock:2", "a")
	assert.Equal(t, diagnose.Ailing, examine(t, s, diagnose.Options{}).Verdict)
}

// The search for keys ends in time, and says that it didn't see all.
func TestManyKeysOnRedis(t *testing.T) {
	t.Parallel()
	s := redistest.Process(t)
	set(t, s.Client(t, nil), "EVAL", "for i = 1, 30000 do redis.call('SET', 'lock:' .. i, i, 'PX', 600000) end return 1", 0)
	r := examine(t, s, diagnose.Options{Scan: time.Minute})
	assert.Equal(t, diagnose.Unclear, r.Verdict)
	assert.False(t, r.Keys.Scanned)
	assert.GreaterOrEqual(t, r.Keys.Locks, 10_000)
	assert.Equal(t, 1000, r.Keys.Watched)
	r = examine(t, s, diagnose.Options{Scan: time.Nanosecond})
	assert.Equal(t, diagnose.Unclear, r.Verdict)
	assert.Less(t, r.Keys.Locks, 10_000)
}

func TestItOnlyReads(t *testing.T) {
	t.Parallel()
	s := redistest.Process(t)
	c := s.Client(t, nil)
	set(t, c, "SET", "lock:1", "a")
	set(t, c, "SET", "lock:2", "a", "PX", 600_000)
	set(t, c, "ACL", "SETUSER", "reader", "reset", "on", "nopass", "~*", "-@all",
		"+ping", "+info", "+config|get", "+dbsize", "+client|list", "+slowlog|get", "+scan", "+type", "+pttl", "+get", "+object|idletime")
	client := s.Client(t, func(o *redis.Options) {
		looking(o)
		o.Username, o.Password = "reader", "any"
	})
	r, err := diagnose.Examine(t.Context(), client, diagnose.Options{})
	require.NoError(t, err)
	assert.Empty(t, r.Unasked, "the documented commands are all it needs")
}

func TestAServerThatGoes(t *testing.T) {
	t.Parallel()
	s := redistest.Mini(t)
	client := s.Client(t, looking)
	ctx, cancel := context.WithCancel(t.Context())
	client.AddHook(redistest.Hook(func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
		if cmd.Name() == "scan" {
			cancel()
		}
		return next(ctx, cmd)
	}))
	_, err := diagnose.Examine(ctx, client, diagnose.Options{})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "SCAN")
}

// Names are shown so that they can do no harm.
func TestHostileNamesOnRedis(t *testing.T) {
	t.Parallel()
	s := redistest.Process(t)
	c := s.Client(t, nil)
	evil := "lock:<script>alert(1)</script>\x1b[31m\n\xff" + strings.Repeat("x", 10_000)
	set(t, c, "SET", evil, "a")
	r := examine(t, s, diagnose.Options{})
	require.Equal(t, 1, r.Keys.Eternals)
	var text, doc, page strings.Builder
	require.NoError(t, r.Text(&text))
	require.NoError(t, r.JSON(&doc))
	require.NoError(t, r.HTML(&page))
	assert.NotContains(t, text.String(), "\x1b")
	assert.NotContains(t, page.String(), "<script>")
	assert.Less(t, len(page.String()), 20_000, "long names are cut")
	var back diagnose.Report
	require.NoError(t, json.Unmarshal([]byte(doc.String()), &back))
	assert.Equal(t, diagnose.Schema, back.Schema)
}
