package remote_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
	"github.com/oversell/oversell/cluster/remote"
	"github.com/oversell/oversell/internal/hint"
)

const secret = "s3cret/?#word"

func backend(t *testing.T, o remote.Options) *remote.Backend {
	t.Helper()
	b, err := remote.New(o)
	require.NoError(t, err)
	return b
}

func start(t *testing.T, b *remote.Backend, shape cluster.Shape, name string) *cluster.Cluster {
	t.Helper()
	c, err := b.Start(t.Context(), cluster.Spec{Run: "r1", Name: name, Shape: shape})
	require.NoError(t, err)
	return c
}

func TestURLsAreReadWithoutRepeatingThem(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		o          remote.Options
		text, hint string
	}{
		"nothing":         {remote.Options{}, "needs to know its servers", "--redis-url"},
		"no URL":          {remote.Options{Redis: "redis://:hush@host:port"}, "--redis-url: it can't be read as a URL", "redis://user@host"},
		"scheme":          {remote.Options{Redis: "http://:hush@host"}, "--redis-url: invalid URL scheme", "rediss://"},
		"option":          {remote.Options{Redis: "redis://:hush@host?hush=1"}, "--redis-url: unexpected option", ""},
		"database":        {remote.Options{Redis: "redis://:hush@host/hush"}, "--redis-url: invalid database number", ""},
		"no master_name":  {remote.Options{Sentinels: []string{"redis://:hush@host"}}, "--sentinel-url says nothing of master_name", "master_name=mymaster"},
		"two masters":     {remote.Options{Sentinels: []string{"redis://a?master_name=x", "redis://b?master_name=hush"}}, "name different masters", ""},
		"small quorum":    {remote.Options{Quorum: []string{"redis://a", "redis://b"}}, "--quorum-url names 2 servers", "3 at least"},
		"the same twice":  {remote.Options{Quorum: []string{"redis://:hush@a", "redis://b", "redis://a/1"}}, "--quorum-url names a:6379 twice", "independent"},
		"sentinel option": {remote.Options{Sentinels: []string{"redis://a?master_name=x&addr=hush"}}, "--sentinel-url: it can't be read", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := remote.New(tc.o)
			require.ErrorContains(t, err, tc.text)
			assert.Contains(t, hint.Of(err), tc.hint)
			assert.NotContains(t, err.Error()+hint.Of(err), "hush")
		})
	}
}

func TestShapesFollowTheURLs(t *testing.T) {
	t.Parallel()
	b := backend(t, remote.Options{Sentinels: []string{"redis://a?master_name=x&addr=b:26379"}})
	require.NoError(t, b.Supports(cluster.Sentinel))
	require.ErrorContains(t, b.Supports(cluster.Single), "that needs --redis-url")
	require.ErrorContains(t, b.Supports(cluster.Quorum), "that needs --quorum-url")
	require.Error(t, b.Supports("ring"))
	assert.True(t, b.Real())

	out := b.Outline(cluster.Sentinel)
	require.Len(t, out.Nodes, 3)
	assert.True(t, out.Foreign)
	for _, n := range out.Nodes {
		_, kills := n.(cluster.Killer)
		_, pauses := n.(cluster.Pauser)
		_, cuts := n.(cluster.Isolator)
		assert.False(t, kills || pauses || cuts, "%s is its owner's", n.Name())
	}
}

func TestASingleServer(t *testing.T) {
	t.Parallel()
	addr := serve(t, "")
	direct := client(t, &redis.Options{Addr: addr, DB: 3})
	b := backend(t, remote.Options{Redis: "redis://" + addr + "/3"})
	what, err := b.Probe(t.Context(), "")
	require.NoError(t, err)
	assert.Regexp(t, `^(Redis|Valkey) \S+ at `+addr+`$`, what)

	one, two := start(t, b, cluster.Single, "a*"), start(t, b, cluster.Single, "ab")
	assert.Equal(t, "oversell:r1:a*:", one.KeyPrefix)
	assert.True(t, one.Foreign)
	assert.False(t, one.Simulated)
	assert.Equal(t, addr, one.Nodes[0].Announced())
	for _, c := range []*cluster.Cluster{one, two} {
		for i := range 2500 {
			_, err := redisnode.Do(t.Context(), c.Nodes[0], "SET", fmt.Sprintf("%slock:%d", c.KeyPrefix, i), "x")
			require.NoError(t, err)
			if i > 5 && c == two {
				break
			}
		}
	}
	require.NoError(t, direct.Set(t.Context(), "theirs", "x", 0).Err())
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, one.Close(ended), "also in a context that has ended")
	assert.Empty(t, direct.Keys(t.Context(), `oversell:r1:a\**`).Val())
	assert.Len(t, direct.Keys(t.Context(), "oversell:r1:ab:*").Val(), 7, "another cluster's keys, though the pattern would match")
	require.NoError(t, two.Close(t.Context()))
	require.NoError(t, two.Close(t.Context()), "closing again")
	assert.Equal(t, []string{"theirs"}, direct.Keys(t.Context(), "*").Val())

	_, err = one.Nodes[0].Logs(t.Context(), 10)
	require.ErrorContains(t, err, "out of reach")
}

func TestForeignKeysAreRefused(t *testing.T) {
	t.Parallel()
	addr := serve(t, "")
	direct := client(t, &redis.Options{Addr: addr})
	b := backend(t, remote.Options{Redis: "redis://" + addr})
	require.NoError(t, direct.Set(t.Context(), "oversell:of a run that died", "x", 0).Err())
	_, err := b.Probe(t.Context(), "")
	require.NoError(t, err, "those are oversell's")

	for i := range 3000 {
		require.NoError(t, direct.Set(t.Context(), fmt.Sprintf("oversell:old:%d", i), "x", 0).Err())
	}
	require.NoError(t, direct.Set(t.Context(), "session:"+strings.Repeat("x", 100), "x", 0).Err())
	_, err = b.Probe(t.Context(), "")
	require.ErrorContains(t, err, addr+" holds keys that aren't oversell's: 3002 in database 0, such as \"session:xxx")
	assert.Less(t, len(err.Error()), 200)
	assert.Contains(t, hint.Of(err), "--allow-nonempty")
	c, err := b.Start(t.Context(), cluster.Spec{Run: "r", Name: "n", Shape: cluster.Single})
	require.ErrorContains(t, err, "aren't oversell's")
	require.NoError(t, c.Close(t.Context()))

	c = start(t, backend(t, remote.Options{Redis: "redis://" + addr, AllowNonempty: true}), cluster.Single, "n")
	require.NoError(t, direct.Set(t.Context(), c.KeyPrefix+"lock", "x", 0).Err())
	require.NoError(t, c.Close(t.Context()))
	assert.EqualValues(t, 3002, direct.DBSize(t.Context()).Val())
}

func TestUsersAndPasswords(t *testing.T) {
	t.Parallel()
	addr := serve(t, "requirepass "+secret+"\nuser shop on >"+secret+" ~oversell:* +@all -acl\nuser poor on >"+secret+" ~* +ping")
	quoted := "s3cret%2F%3F%23word"
	for name, tc := range map[string]struct {
		o          remote.Options
		text, hint string
	}{
		"in the URL":          {remote.Options{Redis: "redis://:" + quoted + "@" + addr}, "", ""},
		"aside":               {remote.Options{Redis: "redis://" + addr + "/2", Password: secret}, "", ""},
		"a user":              {remote.Options{Redis: "redis://shop:" + quoted + "@" + addr}, "", ""},
		"a user, aside":       {remote.Options{Redis: "redis://shop@" + addr, Password: secret}, "", ""},
		"the URL comes first": {remote.Options{Redis: "redis://shop:" + quoted + "@" + addr, Password: "other"}, "", ""},
		"none":                {remote.Options{Redis: "redis://" + addr}, "NOAUTH", remote.PasswordEnv},
		"wrong":               {remote.Options{Redis: "redis://" + addr, Password: secret + "x"}, "AUTH: WRONGPASS", "user or password is wrong"},
		"no right":            {remote.Options{Redis: "redis://poor@" + addr, Password: secret}, "NOPERM", "lacks a right"},
		"no such database":    {remote.Options{Redis: "redis://" + addr + "/99", Password: secret}, "SELECT: ERR DB index", "no database of that number"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			what, err := backend(t, tc.o).Probe(t.Context(), "")
			if tc.text == "" {
				require.NoError(t, err)
				assert.Contains(t, what, addr)
				assert.NotContains(t, what, "s3cret")
				return
			}
			require.ErrorContains(t, err, tc.text)
			assert.Contains(t, hint.Of(err), tc.hint)
			assert.NotContains(t, err.Error()+hint.Of(err), "s3cret")
		})
	}
	open := serve(t, "")
	_, err := backend(t, remote.Options{Redis: "redis://" + open, Password: secret}).Probe(t.Context(), "")
	require.ErrorContains(t, err, "AUTH")
	assert.Contains(t, hint.Of(err), "knows no password")
}

// What an instance's client gets needs no password any more.
func TestConnectionsAreReadyToUse(t *testing.T) {
	t.Parallel()
	addr := serve(t, "requirepass "+secret)
	c := start(t, backend(t, remote.Options{Redis: "redis://" + addr + "/5", Password: secret}), cluster.Single, "n")
	instance := redis.NewClient(&redis.Options{
		Addr: "wire:1", Protocol: 3,
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) { return c.Nodes[0].Dial(ctx) },
	})
	defer instance.Close()
	require.NoError(t, instance.Set(t.Context(), c.KeyPrefix+"k", "v", 0).Err())
	direct := client(t, &redis.Options{Addr: addr, Password: secret, DB: 5})
	assert.EqualValues(t, 1, direct.DBSize(t.Context()).Val())
	require.NoError(t, c.Close(t.Context()))
	assert.Zero(t, direct.DBSize(t.Context()).Val())
}

func TestTLS(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	tlsPort := freePort(t)
	plain := serve(t, fmt.Sprintf("tls-port %s\ntls-cert-file %s\ntls-key-file %s\ntls-ca-cert-file %s\ntls-auth-clients no\nrequirepass x", tlsPort, cert, key, cert))
	addr := net.JoinHostPort("127.0.0.1", tlsPort)

	_, err := backend(t, remote.Options{Redis: "rediss://:x@" + addr}).Probe(t.Context(), "")
	require.ErrorContains(t, err, "unknown authority")
	assert.Contains(t, hint.Of(err), "SSL_CERT_FILE")
	what, err := backend(t, remote.Options{Redis: "rediss://:x@" + addr + "?skip_verify=true"}).Probe(t.Context(), "")
	require.NoError(t, err)
	assert.Contains(t, what, addr)
	c := start(t, backend(t, remote.Options{Redis: "rediss://:x@" + addr + "/1?skip_verify=true"}), cluster.Single, "n")
	reply, err := redisnode.Do(t.Context(), c.Nodes[0], "SET", c.KeyPrefix+"k", "v")
	require.NoError(t, err)
	assert.Equal(t, "OK", reply)
	require.NoError(t, c.Close(t.Context()))

	_, err = backend(t, remote.Options{Redis: "rediss://:x@" + plain}).Probe(t.Context(), "")
	require.Error(t, err)
	assert.Contains(t, hint.Of(err), "redis:// instead of rediss://")
	_, err = backend(t, remote.Options{Redis: "redis://:x@" + addr}).Probe(t.Context(), "")
	require.Error(t, err)
	assert.Contains(t, hint.Of(err), "rediss://")
}

func TestOutOfReach(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"redis://:" + "hush@127.0.0.1:" + freePort(t): "nothing listens there",
		"redis://:hush@no.such.host.invalid":          "no address is known for no.such.host.invalid",
	} {
		_, err := backend(t, remote.Options{Redis: url}).Probe(t.Context(), "")
		require.Error(t, err)
		assert.Contains(t, hint.Of(err), want)
		assert.NotContains(t, err.Error(), "hush")
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and says nothing
	require.NoError(t, err)
	defer silent.Close()
	_, err = backend(t, remote.Options{Redis: "redis://" + silent.Addr().String()}).Probe(t.Context(), "")
	require.Error(t, err)
	assert.Contains(t, hint.Of(err), "no answer in time")

	short, done := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer done()
	_, err = backend(t, remote.Options{Redis: "redis://" + silent.Addr().String()}).Probe(short, "")
	require.ErrorIs(t, err, context.DeadlineExceeded)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = backend(t, remote.Options{Redis: "redis://" + silent.Addr().String()}).Probe(ctx, "")
	require.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, hint.Of(err))
}

func TestServersThatWontDo(t *testing.T) {
	t.Parallel()
	master := serve(t, "")
	host, port, err := net.SplitHostPort(master)
	require.NoError(t, err)
	replica := serve(t, "replicaof "+host+" "+port)
	_, err = backend(t, remote.Options{Redis: "redis://" + replica}).Probe(t.Context(), "")
	require.ErrorContains(t, err, replica+" is a replica, of 127.0.0.1:"+port)
	assert.Contains(t, hint.Of(err), "--sentinel-url")

	member := serve(t, "cluster-enabled yes")
	_, err = backend(t, remote.Options{Redis: "redis://" + member}).Probe(t.Context(), "")
	require.ErrorContains(t, err, "part of a Redis Cluster")

	b := backend(t, remote.Options{Redis: "redis://" + master})
	_, err = b.Probe(t.Context(), "5.0")
	require.ErrorContains(t, err, "version 5.0 was asked for, and "+master+" is ")
}

func TestAQuorum(t *testing.T) {
	t.Parallel()
	a, b, c := serve(t, ""), serve(t, ""), serve(t, "")
	direct := client(t, &redis.Options{Addr: c})
	q := start(t, backend(t, remote.Options{Quorum: []string{"redis://" + a, "redis://" + b, "redis://" + c + "/0"}}), cluster.Quorum, "n")
	require.Len(t, q.Nodes, 3)
	for i, n := range q.Nodes {
		assert.Equal(t, fmt.Sprintf("master-%d", i+1), n.Name())
		_, err := redisnode.Do(t.Context(), n, "SET", q.KeyPrefix+"k", "v")
		require.NoError(t, err)
	}
	require.NoError(t, q.Close(t.Context()))
	assert.Zero(t, direct.DBSize(t.Context()).Val())

	local := strings.Replace(a, "127.0.0.1", "localhost", 1)
	_, err := backend(t, remote.Options{Quorum: []string{"redis://" + a, "redis://" + b, "redis://" + local}}).Probe(t.Context(), "")
	require.ErrorContains(t, err, a+" and "+local+" are the same server")

	require.NoError(t, direct.Set(t.Context(), "theirs", 1, 0).Err())
	_, err = backend(t, remote.Options{Quorum: []string{"redis://" + a, "redis://" + b, "redis://" + c}}).Probe(t.Context(), "")
	require.ErrorContains(t, err, c+" holds keys that aren't oversell's")
}

// deployment is a master, a replica and two sentinels, with passwords.
func deployment(t *testing.T) (master, replica string, sentinels [2]string) {
	t.Helper()
	const auth = "requirepass data\nmasterauth data\nrepl-diskless-sync-delay 0"
	master = serve(t, auth)
	host, port, err := net.SplitHostPort(master)
	require.NoError(t, err)
	replica = serve(t, auth+"\nreplicaof "+host+" "+port)
	for i := range sentinels {
		sentinels[i] = serve(t, fmt.Sprintf("requirepass watch\nsentinel sentinel-pass watch\nsentinel monitor shop %s %s 2\nsentinel auth-pass shop data\n", host, port), "--sentinel")
	}
	for _, s := range sentinels {
		c := client(t, &redis.Options{Addr: s, Password: "watch"})
		require.Eventually(t, func() bool {
			others, err := c.Do(t.Context(), "SENTINEL", "SENTINELS", "shop").Slice()
			replicas, rerr := c.Do(t.Context(), "SENTINEL", "REPLICAS", "shop").Slice()
			return err == nil && rerr == nil && len(others) == 1 && len(replicas) == 1
		}, limit, 10*time.Millisecond)
	}
	return master, replica, sentinels
}

func TestSentinels(t *testing.T) {
	t.Parallel()
	master, replica, sentinels := deployment(t)
	url := "redis://:watch@" + strings.Replace(sentinels[0], "127.0.0.1", "localhost", 1) + "?master_name=shop&password=data&db=1"
	b := backend(t, remote.Options{Sentinels: []string{url}})
	what, err := b.Probe(t.Context(), "")
	require.NoError(t, err)
	assert.Contains(t, what, master+", as 2 sentinels name it")

	c := start(t, b, cluster.Sentinel, "n")
	assert.Equal(t, "shop", c.MasterSet)
	roles := map[string]string{}
	for _, n := range c.Nodes {
		roles[n.Name()] = n.Announced()
	}
	assert.Equal(t, master, roles["master"])
	assert.Equal(t, replica, roles["replica-1"])
	assert.Equal(t, sentinels[1], roles["sentinel-2"], "nobody named it, and it is there")
	require.Len(t, c.Nodes, 4)
	n, err := redisnode.CurrentMaster(t.Context(), c)
	require.NoError(t, err)
	assert.Equal(t, "master", n.Name())
	_, err = redisnode.Do(t.Context(), n, "SET", c.KeyPrefix+"k", "v")
	require.NoError(t, err)
	require.NoError(t, c.Close(t.Context()))
	assert.Zero(t, client(t, &redis.Options{Addr: master, Password: "data", DB: 1}).DBSize(t.Context()).Val())

	aside := remote.Options{
		Sentinels: []string{"redis://" + sentinels[0] + "?master_name=shop&addr=" + sentinels[1]},
		Password:  "data", SentinelPassword: "watch",
	}
	_, err = backend(t, aside).Probe(t.Context(), "")
	require.NoError(t, err)
	aside.SentinelPassword = ""
	_, err = backend(t, aside).Probe(t.Context(), "")
	assert.Contains(t, hint.Of(err), remote.SentinelPasswordEnv)
	aside.SentinelPassword, aside.Sentinels = "watch", []string{"redis://" + sentinels[0] + "?master_name=other"}
	_, err = backend(t, aside).Probe(t.Context(), "")
	assert.Contains(t, hint.Of(err), `no master called "other"`)
}
