package process_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/clustertest"
	"github.com/oversell/oversell/cluster/process"
	"github.com/oversell/oversell/cluster/redisnode"
	"github.com/oversell/oversell/internal/hint"
)

// fakeServer puts a redis-server first on PATH that claims to be 7.0.99 and
// otherwise runs the given shell lines, with its configuration in $1.
func fakeServer(t *testing.T, lines string) {
	t.Helper()
	dir := t.TempDir()
	script := "#!/bin/sh\n[ \"$1\" = --version ] && { echo 'Redis server v=7.0.99 sha=0:0'; exit 0; }\n" + lines + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "redis-server"), []byte(script), 0o755))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestAServerThatDiesOnStartShowsItsLog(t *testing.T) {
	fakeServer(t, `i=0; while [ $i -lt 20 ]; do i=$((i+1)); echo "line $i"; done; echo '*** FATAL ***' >&2; exit 1`)
	spec := cluster.Spec{Run: "dies-on-start", Name: "a", Shape: cluster.Sentinel, LogDir: t.TempDir()}
	c, err := process.New().Start(t.Context(), spec)
	require.Error(t, err)
	assert.Regexp(t, `^start master: .*redis-server ended right after its start \(pid \d+: exit status 1\)`, err.Error())
	assert.Contains(t, err.Error(), "line 12\n")
	assert.Contains(t, err.Error(), "*** FATAL ***")
	assert.NotContains(t, err.Error(), "line 11\n", "only its end is shown")
	assert.Equal(t, "the whole log is in "+filepath.Join(spec.LogDir, "master.log"), hint.Of(err))

	require.NoError(t, c.Close(t.Context()))
	kept, err := os.ReadFile(filepath.Join(spec.LogDir, "master.log"))
	require.NoError(t, err)
	assert.Contains(t, string(kept), "line 1\n")
	assert.Empty(t, leftovers(t, spec.Run))

	spec.LogDir = ""
	c, err = process.New().Start(t.Context(), spec)
	require.Error(t, err)
	assert.Contains(t, hint.Of(err), "redis-server --port 0")
	require.NoError(t, c.Close(t.Context()))
}

func TestATakenPortIsReplacedByAnother(t *testing.T) {
	clustertest.Require(t, process.New(), "")
	server, err := exec.LookPath("redis-server")
	if err != nil {
		server, err = exec.LookPath("valkey-server")
	}
	require.NoError(t, err)
	told := filepath.Join(t.TempDir(), "told")
	fakeServer(t, fmt.Sprintf(`[ -e %[1]q ] && exec %[2]q "$@"
cp "$1" %[1]q
echo 'Could not create server TCP listening socket 127.0.0.1:1: bind: Address already in use'; exit 1`, told, server))
	c, err := process.New().Start(t.Context(), cluster.Spec{Run: "port-taken", Name: "a", Shape: cluster.Single})
	defer func() { assert.NoError(t, c.Close(t.Context())) }()
	require.NoError(t, err)
	require.NoError(t, redisnode.Ping(t.Context(), c.Nodes[0]))
	first, err := os.ReadFile(told)
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(c.Nodes[0].Addr())
	require.NoError(t, err)
	assert.NotContains(t, strings.Split(string(first), "\n"), "port "+port, "the same port was tried again")
}

func TestPortsThatAreAlwaysTakenEndTheStart(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	fakeServer(t, fmt.Sprintf(`echo x >> %q; echo 'bind: Address already in use'; exit 1`, count))
	c, err := process.New().Start(t.Context(), cluster.Spec{Run: "ports-taken", Name: "a", Shape: cluster.Single})
	require.ErrorContains(t, err, "Address already in use")
	assert.Contains(t, err.Error(), "start redis")
	require.NoError(t, c.Close(t.Context()))
	tries, err := os.ReadFile(count)
	require.NoError(t, err)
	assert.Equal(t, 10, strings.Count(string(tries), "x"))
	assert.Empty(t, leftovers(t, "ports-taken"))
}

func TestWithoutAServerOnPath(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	b := process.New()
	for _, version := range []string{"", "7.0"} {
		_, err := b.Probe(t.Context(), version)
		require.ErrorContains(t, err, "neither redis-server nor valkey-server is on PATH")
		assert.Contains(t, hint.Of(err), "install")
	}
	c, err := b.Start(t.Context(), cluster.Spec{Run: "nothing-there", Name: "a", Shape: cluster.Single})
	require.ErrorContains(t, err, "neither")
	assert.Nil(t, c)
	assert.Empty(t, leftovers(t, "nothing-there"))
}

func TestTheVersionAskedForMustBeOnPath(t *testing.T) {
	fakeServer(t, "exit 1")
	b := process.New()
	for _, version := range []string{"", "7.0", "7.0.99", "7"} {
		what, err := b.Probe(t.Context(), version)
		require.NoError(t, err, version)
		assert.Regexp(t, `^Redis 7\.0\.99 at /.*redis-server$`, what)
	}
	for _, version := range []string{"8.0", "7.0.9", "70", "valkey-7.0"} {
		_, err := b.Probe(t.Context(), version)
		require.ErrorContains(t, err, "version "+version+" was asked for, and on PATH there is Redis 7.0.99")
		assert.Contains(t, hint.Of(err), version)
	}
}

func TestAProgramThatIsNoServer(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "redis-server"), []byte("#!/bin/sh\necho hello\n"), 0o755))
	_, err := process.New().Probe(t.Context(), "")
	require.ErrorContains(t, err, "tells no version: hello")
}

func TestManyClustersStartAtOnce(t *testing.T) {
	b := process.New()
	clustertest.Require(t, b, "")
	const many = 12
	var wg sync.WaitGroup
	clusters, errs := make([]*cluster.Cluster, many), make([]error, many)
	for i := range many {
		wg.Go(func() {
			clusters[i], errs[i] = b.Start(t.Context(), cluster.Spec{Run: "many", Name: "same", Shape: cluster.Single})
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	addrs := map[string]bool{}
	for _, c := range clusters {
		addrs[c.Nodes[0].Addr()] = true
		require.NoError(t, redisnode.Ping(t.Context(), c.Nodes[0]))
	}
	assert.Len(t, addrs, many)
	for _, c := range clusters {
		require.NoError(t, c.Close(t.Context()))
	}
	assert.Empty(t, leftovers(t, "many"))
}

// Nobody else gets the port of a server while it is down.
func TestAKilledServersPortIsKept(t *testing.T) {
	b := process.New()
	clustertest.Require(t, b, "")
	c, err := b.Start(t.Context(), cluster.Spec{Run: "port-kept", Name: "a", Shape: cluster.Single})
	defer func() { assert.NoError(t, c.Close(t.Context())) }()
	require.NoError(t, err)
	n := c.Nodes[0]
	_, err = n.(cluster.Killer).Kill(t.Context())
	require.NoError(t, err)
	var taken []net.Listener
	defer func() {
		for _, l := range taken {
			_ = l.Close()
		}
	}()
	for range 500 {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		require.NoError(t, err)
		require.NotEqual(t, n.Addr(), l.Addr().String())
		taken = append(taken, l)
	}
	require.NoError(t, n.(cluster.Killer).Restart(t.Context()))
}

// A master that was cut off and killed comes back without the ban, also when a
// sentinel had it write its configuration meanwhile.
func TestTheCutDoesNotSurviveARestart(t *testing.T) {
	b := process.New()
	clustertest.Require(t, b, "")
	c, err := b.Start(t.Context(), cluster.Spec{Run: "clean-restart", Name: "a", Shape: cluster.Sentinel})
	defer func() { assert.NoError(t, c.Close(t.Context())) }()
	require.NoError(t, err)
	for _, n := range c.Nodes {
		if n.Role() == cluster.RoleSentinel { // nobody shall interfere
			_, err := n.(cluster.Killer).Kill(t.Context())
			require.NoError(t, err)
		}
	}
	master := c.Node("master")
	_, err = master.(cluster.Isolator).CutPeers(t.Context())
	require.NoError(t, err)
	_, err = redisnode.Do(t.Context(), master, "CONFIG", "REWRITE")
	require.NoError(t, err)
	_, err = master.(cluster.Killer).Kill(t.Context())
	require.NoError(t, err)
	require.NoError(t, master.(cluster.Isolator).HealPeers(t.Context()), "a dead master has nothing to heal")
	require.NoError(t, master.(cluster.Killer).Restart(t.Context()))
	require.NoError(t, redisnode.AwaitLink(t.Context(), []cluster.Node{c.Node("replica-1"), c.Node("replica-2")}, true))
}
