package metrics_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/metrics"
)

func TestAddress(t *testing.T) {
	for text, want := range map[string]string{
		"9464": "127.0.0.1:9464", ":9464": "127.0.0.1:9464", "0": "127.0.0.1:0", ":0": "127.0.0.1:0",
		"0.0.0.0:9464": "0.0.0.0:9464", "[::1]:9464": "[::1]:9464", "host:1": "host:1",
	} {
		got, err := metrics.Address(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got)
	}
	for _, text := range []string{"", "host", ":", "host:http", "1.2.3.4:70000", "70000", "::1", "-1"} {
		_, err := metrics.Address(text)
		assert.Error(t, err, text)
	}
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	resp, err := http.Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(data)
}

func TestExport(t *testing.T) {
	e, err := metrics.Export(":0", metrics.Build{Version: "v1"})
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(e.URL(), "http://127.0.0.1:"), "on loopback unless told otherwise: %s", e.URL())
	status, body := get(t, e.URL())
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, body, `oversell_build_info{commit="",goversion="",version="v1"} 1`)
	assert.Contains(t, body, "process_cpu_seconds_total")
	assert.Contains(t, body, "go_goroutines")
	home := strings.TrimSuffix(e.URL(), metrics.Path)
	status, body = get(t, home)
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, body, metrics.Path)
	status, _ = get(t, home+"/other")
	assert.Equal(t, http.StatusNotFound, status)

	_, err = metrics.Export(strings.TrimSuffix(strings.TrimPrefix(e.URL(), "http://"), metrics.Path), metrics.Build{})
	require.Error(t, err, "the address is in use")

	require.NoError(t, e.Close(t.Context()))
	_, err = net.DialTimeout("tcp", strings.TrimPrefix(home, "http://"), time.Second)
	require.Error(t, err, "nobody listens any more")
}

func TestAwaitScrape(t *testing.T) {
	reg := prometheus.NewRegistry()
	s, err := metrics.Serve("0", reg)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	get(t, s.URL())
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.AwaitScrape(short), context.DeadlineExceeded, "a scrape from before doesn't count")

	// A scrape that began before is on its way while somebody begins to wait.
	entered, leave := make(chan struct{}), make(chan struct{})
	reg.MustRegister(&slowCollector{entered, leave})
	first := make(chan struct{})
	go func() {
		defer close(first)
		get(t, s.URL())
	}()
	<-entered
	waited := make(chan error, 1)
	go func() { waited <- s.AwaitScrape(t.Context()) }()
	require.Eventually(t, func() bool { return metrics.Waiting(s) == 1 }, time.Minute, time.Millisecond)
	close(leave)
	<-first
	require.Equal(t, 1, metrics.Waiting(s), "that one began too early")
	go func() { <-entered }()
	get(t, s.URL())
	require.NoError(t, <-waited)

	// One that is over before anybody waits for it counts when it was expected.
	await := s.ExpectScrape()
	go func() { <-entered }()
	get(t, s.URL())
	require.NoError(t, await(t.Context()))
}

// slowCollector takes until it is let go.
type slowCollector struct{ entered, leave chan struct{} }

func (c *slowCollector) Describe(chan<- *prometheus.Desc) {}
func (c *slowCollector) Collect(chan<- prometheus.Metric) {
	c.entered <- struct{}{}
	<-c.leave
}
