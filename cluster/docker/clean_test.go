package docker

import (
	"context"
	"net/netip"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
)

// ended returns a process that has been and gone.
func ended(t *testing.T) owner {
	t.Helper()
	me, err := self()
	require.NoError(t, err)
	cmd := exec.Command("sleep", "60")
	require.NoError(t, cmd.Start())
	start, err := startOf(cmd.Process.Pid)
	assert.NoError(t, err)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait(), "it was killed")
	return owner{pid: cmd.Process.Pid, start: start, host: me.host}
}

// owned returns a backend on the same engine that belongs to o.
func owned(t *testing.T, o owner) *Backend {
	t.Helper()
	e, err := backend(t).connect(t.Context())
	require.NoError(t, err)
	return &Backend{engine: &engine{
		provider: e.provider, api: e.api, product: e.product, endpoint: e.endpoint, owner: o,
	}}
}

func TestClean(t *testing.T) {
	t.Parallel()
	me, err := self()
	require.NoError(t, err)
	gone := ended(t)
	living := spec(t, cluster.Single)
	// A machine of its own: others who clean up now can't see these, nor this test theirs.
	me.host, gone.host = "machine of "+living.Run, "machine of "+living.Run

	b := owned(t, me)
	c := start(t, b, living)
	dead := living
	dead.Name, dead.LogDir = "dead", ""
	_, err = owned(t, gone).Start(t.Context(), dead)
	require.NoError(t, err)

	want := []string{"container oversell-" + living.Run + "-dead-redis", "network oversell-" + living.Run + "-dead-clients"}
	left, err := b.Leftovers(t.Context())
	require.NoError(t, err)
	assert.Equal(t, want, left)
	left, err = shared.Leftovers(t.Context())
	require.NoError(t, err)
	assert.NotContains(t, left, want[0], "seen from another machine it may be alive")

	removed, err := b.Clean(t.Context())
	require.NoError(t, err)
	assert.Equal(t, want, removed)
	do(t, c.Node("redis"), "PING")
	assert.Len(t, itemsOf(t, b, living.Run), 2, "the living one's container and network")
	removed, err = b.Clean(t.Context())
	require.NoError(t, err)
	assert.Empty(t, removed)
}

func TestOwner(t *testing.T) {
	t.Parallel()
	me, err := self()
	require.NoError(t, err)
	again, err := self()
	require.NoError(t, err)
	assert.Equal(t, me, again, "the same at any time")

	read, ok := ownerOf(me.labels(map[string]string{labelRun: "r"}))
	require.True(t, ok)
	assert.Equal(t, me, read)
	assert.False(t, me.dead(me, true))
	assert.True(t, ended(t).dead(me, true))

	reused := me
	reused.start += "0"
	assert.True(t, reused.dead(me, true), "its pid is another process's now")
	elsewhere := reused
	elsewhere.host = "other/boot/pid"
	assert.False(t, elsewhere.dead(me, true), "another machine's processes can't be seen")
	_, ok = ownerOf(map[string]string{labelRun: "r"})
	assert.False(t, ok, "without an owner nothing is known")
}

func TestRebooted(t *testing.T) {
	t.Parallel()
	before, now := owner{1, "1", "vm/boot-1/pid:[1]"}, owner{1, "1", "vm/boot-2/pid:[1]"}
	if !rebooted(before.host, now.host) {
		t.Skip("this platform tells processes of other boots by their date")
	}
	assert.True(t, before.dead(now, true))
	assert.False(t, before.dead(now, false), "another machine may have the same name")
	assert.False(t, rebooted("other/boot-1/pid:[1]", now.host))
}

func TestInfo(t *testing.T) {
	t.Parallel()
	b := backend(t)
	i, err := b.Info(t.Context())
	require.NoError(t, err)
	assert.Contains(t, i.Engine, "Docker ")
	assert.NotEmpty(t, i.Endpoint)
	assert.NotEmpty(t, i.Host)
	assert.Regexp(t, "^(on|off), ", i.Ryuk)
	assert.NotEmpty(t, i.Images["7.0"], "backend was probed with it")
	assert.Len(t, i.Images, len(cluster.Versions()))
}

func TestRyukSettingOfTheUser(t *testing.T) {
	for value, want := range map[string]string{"true": "off", "1": "off", "false": "on"} {
		t.Setenv(ryukVariable, value)
		assert.Equal(t, want+", by "+ryukVariable, decideRyuk(t.Context(), nil, settings{}))
		assert.Equal(t, value, os.Getenv(ryukVariable), "left alone")
	}
	t.Setenv(ryukVariable, "")
	assert.Equal(t, "off, by ~/.testcontainers.properties", decideRyuk(t.Context(), nil, settings{ryukDisabled: "true"}))
	assert.Empty(t, os.Getenv(ryukVariable), "left alone")
}

func TestSubnets(t *testing.T) {
	t.Parallel()
	for range 1000 {
		p := randomSubnet()
		require.True(t, subnetRange.Contains(p.Addr()), p.String())
		require.Equal(t, p.Masked(), p)
		s := subnet{prefix: p}
		require.True(t, p.Contains(s.host(12)), "room for 13 nodes")
	}
	s := subnet{prefix: netip.MustParsePrefix("198.19.4.16/28")}
	assert.Equal(t, "198.19.4.18", s.host(0).String(), "the gateway has the first address")
	assert.True(t, usedHere(netip.MustParsePrefix("127.0.0.0/28")))
}

func TestRequestName(t *testing.T) {
	t.Parallel()
	for image, want := range map[string]string{
		"redis:7.0":                    "docker.io/library/redis:7.0",
		"oversell/redis:7.0":           "docker.io/oversell/redis:7.0",
		"mirror.example/redis:7.0":     "mirror.example/redis:7.0",
		"localhost/redis:7.0":          "localhost/redis:7.0",
		"mirror:5000/valkey/valkey:81": "mirror:5000/valkey/valkey:81",
	} {
		assert.Equal(t, want, requestName(image))
	}
}

func TestMutateOutlivesItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	err := mutate(ctx, func(inner context.Context) error {
		cancel()
		return inner.Err()
	})
	require.NoError(t, err, "a request under way is waited for")
	require.ErrorIs(t, mutate(ctx, func(context.Context) error { return nil }), context.Canceled, "no new one is begun")
}
