package redisnode_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/embedded"
	"github.com/oversell/oversell/cluster/redisnode"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestParseInfo(t *testing.T) {
	t.Parallel()
	info := redisnode.ParseInfo("# Server\r\nredis_version:7.0.15\r\nexecutable:/a:b\r\n\r\n# Memory: none\r\nempty:\r\nused_cpu_sys:0.25\r\nno colon\r\n")
	assert.Equal(t, redisnode.Info{"redis_version": "7.0.15", "executable": "/a:b", "empty": "", "used_cpu_sys": "0.25"}, info)
	_, ok := info.Int("empty")
	assert.False(t, ok)
	_, ok = info.Int("absent")
	assert.False(t, ok)
	v, ok := info.Float("used_cpu_sys")
	assert.True(t, ok)
	assert.InDelta(t, 0.25, v, 0)
}

func TestVersion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ info, want string }{
		{"redis_version:7.0.15", "Redis 7.0.15"},
		{"redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.1.2", "Valkey 9.1.2"},
	} {
		got, err := redisnode.Version(t.Context(), &node{name: "a", answers: map[string]string{"INFO server": bulk(c.info)}})
		require.NoError(t, err)
		assert.Equal(t, c.want, got)
	}
	_, err := redisnode.Version(t.Context(), &node{name: "a", answers: map[string]string{"INFO server": bulk("os:Linux")}})
	require.ErrorContains(t, err, "doesn't tell")
	_, err = redisnode.Version(t.Context(), &node{name: "a", answers: map[string]string{"INFO": "-ERR section (server) is not supported"}})
	require.True(t, redisnode.Refused(err))
	_, err = redisnode.Version(t.Context(), &node{name: "a", down: true})
	require.Error(t, err)
	require.False(t, redisnode.Refused(err), "a broken connection is no answer")
}

func TestServerInfo(t *testing.T) {
	t.Parallel()
	n := &node{name: "a", answers: map[string]string{
		"INFO": bulk("used_cpu_sys:0.5\r\nused_cpu_user:1.25\r\nused_memory:1024\r\nmaxmemory:0\r\nconnected_clients:3\r\n" +
			"total_commands_processed:99\r\ninstantaneous_ops_per_sec:7\r\nevicted_keys:0\r\nuptime_in_seconds:x"),
		"SLOWLOG LEN": ":4",
	}}
	info, err := redisnode.ServerInfo(t.Context(), n)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{
		"used_cpu": 1.75, "used_memory": int64(1024), "maxmemory": int64(0), "connected_clients": int64(3),
		"total_commands_processed": int64(99), "instantaneous_ops_per_sec": int64(7), "evicted_keys": int64(0), "slowlog_len": int64(4),
	}, info)

	delete(n.answers, "SLOWLOG LEN")
	n.answers["INFO"] = bulk("connected_clients:3")
	info, err = redisnode.ServerInfo(t.Context(), n)
	require.NoError(t, err, "a server that has no slow log is asked nonetheless")
	assert.Equal(t, map[string]any{"connected_clients": int64(3)}, info)
}

func TestKeyState(t *testing.T) {
	t.Parallel()
	c, err := embedded.New().Start(t.Context(), cluster.Spec{Shape: cluster.Single})
	require.NoError(t, err)
	defer func() { assert.NoError(t, c.Close(t.Context())) }()
	n := c.Nodes[0]
	for _, args := range [][]any{{"SET", "forever", "v"}, {"SET", "short", "w", "PX", "60000"}, {"SET", "empty", ""}, {"LPUSH", "list", "x"}} {
		_, err := redisnode.Do(t.Context(), n, args...)
		require.NoError(t, err)
	}
	for _, c := range []struct {
		key, value string
		low, high  int64
	}{{"forever", "v", -1, -1}, {"short", "w", 1, 60000}, {"empty", "", -1, -1}, {"none", "", -2, -2}} {
		value, pttl, err := redisnode.KeyState(t.Context(), n, c.key)
		require.NoError(t, err, c.key)
		assert.Equal(t, c.value, value, c.key)
		assert.GreaterOrEqual(t, pttl, c.low, c.key)
		assert.LessOrEqual(t, pttl, c.high, c.key)
	}
	_, _, err = redisnode.KeyState(t.Context(), n, "list")
	require.ErrorContains(t, err, "WRONGTYPE")
}

func TestRole(t *testing.T) {
	t.Parallel()
	role, err := redisnode.Role(t.Context(), server("a", cluster.RoleMaster, "master"))
	require.NoError(t, err)
	assert.Equal(t, "master", role)
	_, err = redisnode.Role(t.Context(), &node{name: "a", answers: map[string]string{"ROLE": "+odd"}})
	require.ErrorContains(t, err, "unexpected reply")
}

func TestAwaitLink(t *testing.T) {
	t.Parallel()
	link := func(status string) *node {
		return &node{name: "r", answers: map[string]string{"INFO replication": bulk("role:slave\r\nmaster_link_status:" + status)}}
	}
	require.NoError(t, redisnode.AwaitLink(t.Context(), []cluster.Node{link("up"), link("up")}, true))
	require.NoError(t, redisnode.AwaitLink(t.Context(), []cluster.Node{link("down")}, false))
	up := link("up")
	err := redisnode.AwaitLink(untilAsked(t, up), []cluster.Node{link("down"), up}, false)
	require.ErrorContains(t, err, `master_link_status "up"`)
}
