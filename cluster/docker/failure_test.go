package docker

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/moby/client"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
	"github.com/oversell/oversell/internal/hint"
)

func TestServerDiesOnStart(t *testing.T) {
	t.Parallel()
	b := backend(t)
	bad := New()
	bad.engine, _ = b.connect(t.Context())
	bad.serverArgs = []string{"--maxmemory-policy", "nonsense"}
	s := spec(t, cluster.Single)

	c, err := bad.Start(within(t), s)
	require.Nil(t, c)
	require.ErrorContains(t, err, "redis ended with code 1 on start")
	require.ErrorContains(t, err, "maxmemory-policy", "the log's last lines")
	assert.NotEmpty(t, hint.Of(err))
	requireNothingLeft(t, b, s.Run)
	saved, err := os.ReadFile(filepath.Join(s.LogDir, "redis.log"))
	require.NoError(t, err)
	assert.Contains(t, string(saved), "maxmemory-policy")
}

// Ctrl-C may come between any two steps of a start.
func TestCancelledStart(t *testing.T) {
	t.Parallel()
	b := backend(t)
	for _, wanted := range []int{1, 5} { // networks and containers that exist when it comes
		s := spec(t, cluster.Sentinel)
		ctx, cancel := context.WithCancel(t.Context())
		type result struct {
			c   *cluster.Cluster
			err error
		}
		ended := make(chan result, 1)
		go func() {
			c, err := b.Start(ctx, s)
			ended <- result{c, err}
		}()
		err := redisnode.Until(within(t), func(context.Context) error {
			if len(itemsOf(t, b, s.Run)) < wanted {
				return errors.New("not yet")
			}
			return nil
		})
		cancel()
		r := <-ended
		require.NoError(t, err)
		if r.err == nil { // it was quicker
			require.NoError(t, r.c.Close(t.Context()))
		} else {
			require.ErrorIs(t, r.err, context.Canceled)
			require.Nil(t, r.c)
		}
		requireNothingLeft(t, b, s.Run)
	}
}

func TestUnreachableHost(t *testing.T) {
	c := start(t, backend(t), spec(t, cluster.Single))
	n := c.Node("redis").(*node)
	_, port, err := net.SplitHostPort(n.Addr())
	require.NoError(t, err)
	const elsewhere = "127.0.0.2" // where the container isn't published
	l, err := net.Listen("tcp", net.JoinHostPort(elsewhere, port))
	if err != nil {
		t.Skipf("no second loopback address here: %v", err)
	}
	defer func() { _ = l.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { // whoever looks there finds no server
		if conn, err := l.Accept(); err == nil {
			_ = conn.Close()
			cancel()
		}
	}()

	t.Setenv(hostVariable, elsewhere)
	err = n.awaitReady(ctx)
	require.ErrorIs(t, err, context.Canceled)
	assert.Contains(t, hint.Of(err), elsewhere)
	assert.Contains(t, hint.Of(err), hostVariable)
	require.ErrorContains(t, err, "Ready to accept connections", "the log shows that the server is well")
	assert.Contains(t, n.Addr(), loopback, "where it was last seen")
}

func TestHosts(t *testing.T) {
	b := backend(t)
	e, err := b.connect(t.Context())
	require.NoError(t, err)
	defer e.idle()
	t.Setenv(hostVariable, "")
	assert.Equal(t, loopback, e.hosts(t.Context())[0], "whatever testcontainers guesses")
	t.Setenv(hostVariable, "docker.example")
	assert.Equal(t, []string{"docker.example"}, e.hosts(t.Context()))
	assert.Empty(t, e.shortcut(t.Context(), nil, ""), "the user has said where servers are")

	assert.Equal(t, "build-7", remoteHost("tcp://build-7:2376"))
	for _, local := range []string{"unix:///var/run/docker.sock", "tcp://127.0.0.1:2375", "tcp://localhost:2375", "tcp://[::1]:2375", ""} {
		assert.Empty(t, remoteHost(local), local)
	}
}

func TestWrongDockerHost(t *testing.T) {
	closed, err := net.Listen("tcp", loopback+":0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	for _, addr := range []string{
		"tcp://" + closed.Addr().String(), "unix:///nowhere/docker.sock", "not-an-address",
	} {
		t.Setenv("DOCKER_HOST", addr)
		_, err := New().Probe(t.Context(), "")
		require.Error(t, err, addr)
		assert.Contains(t, err.Error(), addr)
		assert.Contains(t, hint.Of(err), "DOCKER_HOST", addr)
	}
}

func TestProbeIsBounded(t *testing.T) {
	silent, err := net.Listen("tcp", loopback+":0") // accepts, and never answers
	require.NoError(t, err)
	defer func() { _ = silent.Close() }()
	t.Setenv("DOCKER_HOST", "tcp://"+silent.Addr().String())
	_, err = New().Probe(t.Context(), "")
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestExplainEndpoint(t *testing.T) {
	t.Parallel()
	const addr = "unix:///var/run/docker.sock"
	for want, cause := range map[string]error{
		"usermod":     os.ErrPermission,
		"docker info": context.DeadlineExceeded,
		"systemctl":   errors.New("connection refused"),
	} {
		err := explainEndpoint(addr, "", cause)
		require.ErrorIs(t, err, cause)
		assert.Contains(t, hint.Of(err), want)
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"could not find an available, non-overlapping IPv4 address pool among the defaults":                          "oversell clean",
		"all predefined address pools have been fully subnetted":                                                     "oversell clean",
		"driver failed programming external connectivity: Bind for 127.0.0.1:6379 failed: port is already allocated": "run it again",
		"Got permission denied while trying to connect to the Docker daemon socket":                                  "usermod",
		"Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?":          "docker info",
		`Conflict. The container name "/oversell-1-c-redis" is already in use by container "ab12"`:                   "oversell clean",
		"write /var/lib/docker/tmp/x: no space left on device":                                                       "docker system df",
	} {
		assert.Contains(t, hint.Of(explain(errors.New(text))), want, text)
	}
	assert.NoError(t, explain(nil))
	assert.Empty(t, hint.Of(explain(errors.New("something else"))))
	own := hint.Wrap(errors.New("permission denied"), "its own")
	assert.Equal(t, "its own", hint.Of(explain(own)), "the nearer hint counts")
}

// A stand-in for an engine without images and without a registry.
func bareEngine(t *testing.T) *engine {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Api-Version", "1.41")
		switch {
		case strings.HasSuffix(r.URL.Path, "/_ping"):
		case strings.Contains(r.URL.Path, "/images/create"), strings.Contains(r.URL.Path, "/distribution/"):
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte(`{"message":"lookup registry: no such host"}`))
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"message":"No such image"}`))
		}
	}))
	t.Cleanup(srv.Close)
	api, err := client.New(client.WithHost("tcp://" + srv.Listener.Addr().String()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = api.Close() })
	return &engine{api: api}
}

func TestMissingImage(t *testing.T) {
	t.Parallel()
	b := New()
	b.engine = bareEngine(t)
	for _, attempt := range []func() error{
		func() error { _, err := b.Probe(t.Context(), "8.0"); return err },
		func() error {
			_, err := b.Start(t.Context(), cluster.Spec{Run: "r", Name: "c", Shape: cluster.Single, Version: "8.0"})
			return err
		},
	} {
		err := attempt()
		require.ErrorContains(t, err, "no image of server version 8.0 (oversell/redis:8.0, redis:8.0)")
		require.ErrorContains(t, err, "no such host")
		assert.Contains(t, hint.Of(err), "make images")
		assert.Contains(t, hint.Of(err), "scripts/images.sh 8.0")
	}
}

func TestUnknownVersionAndShape(t *testing.T) {
	t.Parallel()
	b := New()
	b.engine = bareEngine(t)
	_, err := b.Probe(t.Context(), "5.0")
	require.ErrorContains(t, err, `"5.0"`)
	assert.Contains(t, hint.Of(err), "valkey-9.1")
	require.Error(t, b.Supports("ring"))
	for _, s := range []cluster.Shape{cluster.Single, cluster.Sentinel, cluster.Quorum} {
		require.NoError(t, b.Supports(s))
	}
	_, err = b.Start(t.Context(), cluster.Spec{Shape: "ring"})
	require.ErrorContains(t, err, "ring")
}
