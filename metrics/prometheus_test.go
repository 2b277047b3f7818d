package metrics_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/clustertest"
	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/internal/child"
	"github.com/oversell/oversell/internal/redistest"
	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/locks/safe"
	"github.com/oversell/oversell/metrics"
	"github.com/oversell/oversell/result"
)

// patience bounds waiting for what must come. It ends only tests that fail.
const patience = time.Minute

// program skips the test without that program of Prometheus's, or fails it
// where they are required.
func program(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err == nil {
		return
	}
	if slices.Contains(strings.Split(os.Getenv(clustertest.RequireEnv), ","), "prometheus") {
		t.Fatalf("%s requires prometheus, and %s is not on PATH", clustertest.RequireEnv, name)
	}
	t.Skipf("needs %s on PATH (Debian's package prometheus)", name)
}

func promtool(t *testing.T, stdin io.Reader, args ...string) {
	t.Helper()
	program(t, "promtool")
	cmd := exec.CommandContext(t.Context(), "promtool", args...)
	cmd.Stdin = stdin
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "promtool %s: %s", strings.Join(args, " "), out)
}

func TestAlertRules(t *testing.T) {
	t.Parallel()
	promtool(t, nil, "check", "rules", "--lint=all", "--lint-fatal", "alerts.yml")
	promtool(t, nil, "test", "rules", "alerts_test.yml")
}

// exporter serves everything there is to serve, and has counted something.
func exporter(t *testing.T) (*metrics.Server, *metrics.Lock, *metrics.Runs) {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	runs, err := metrics.NewRuns(reg, metrics.Build{Version: "v1.2.3"})
	require.NoError(t, err)
	lock, err := metrics.NewLock(reg, "stock")
	require.NoError(t, err)
	see := runs.Began(history.Plan{Scenario: "ttl-expiry", Lock: "lua-release", TTL: time.Second, Steps: []history.Step{{Fault: "slow-call"}}})
	see(history.Event{Kind: history.FaultInjected, Fault: "slow-call"})
	runs.Judged(result.Run{Scenario: "ttl-expiry", Lock: "lua-release", Verdict: result.Oversold, Gate: result.Pass, Oversold: 3})
	s, err := metrics.Serve("0", reg)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	return s, lock, runs
}

func TestMetricsAreWellFormed(t *testing.T) {
	t.Parallel()
	s, _, _ := exporter(t)
	_, body := get(t, s.URL())
	promtool(t, strings.NewReader(body), "check", "metrics")
}

// server is a prometheus of the test's own.
type server struct{ base string }

var listening = regexp.MustCompile(`msg="Listening on".* address=(127\.0\.0\.1:[1-9][0-9]*)`)

// startPrometheus starts one that scrapes target, evaluates alerts.yml, and
// tells alerts to alertmanager. It is gone when t ends.
func startPrometheus(t *testing.T, target, alertmanager string) server {
	t.Helper()
	program(t, "prometheus")
	rules, err := filepath.Abs("alerts.yml")
	require.NoError(t, err)
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `
global: {scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: 200ms}
rule_files: [%q]
alerting: {alertmanagers: [{static_configs: [{targets: [%q]}]}]}
scrape_configs: [{job_name: shop, static_configs: [{targets: [%q]}]}]
`, rules, host(t, alertmanager), host(t, target)), 0o644))
	promtool(t, nil, "check", "config", config)

	cmd := exec.Command("prometheus", "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	p, err := child.Start(cmd)
	require.NoError(t, err)
	address := make(chan string, 1)
	drained := make(chan struct{})
	var log bytes.Buffer // read once drained is closed
	go func() {
		defer close(drained)
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			fmt.Fprintln(&log, lines.Text())
			if m := listening.FindStringSubmatch(lines.Text()); m != nil && len(address) == 0 {
				address <- m[1]
			}
		}
	}()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_, err := p.Kill(ctx)
		if !errors.Is(err, os.ErrProcessDone) {
			assert.NoError(t, err)
		}
		<-drained
		_ = stderr.Close()
		if t.Failed() {
			t.Logf("prometheus printed:\n%s", log.String())
		}
	})
	select {
	case a := <-address:
		return server{"http://" + a}
	case <-drained:
		t.Fatalf("prometheus ended: %s:\n%s", p.How(), log.String())
	case <-time.After(patience):
		t.Fatal("prometheus doesn't say where it listens")
	}
	return server{}
}

func host(t *testing.T, text string) string {
	t.Helper()
	u, err := url.Parse(text)
	require.NoError(t, err)
	return u.Host
}

// ask asks the API and reads the data of its answer, which must be a success.
func (s server) ask(t *testing.T, path string, query url.Values, data any) {
	t.Helper()
	_, body := get(t, s.base+"/api/v1/"+path+"?"+query.Encode())
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(body), &answer), "%s", body)
	require.Equal(t, "success", answer.Status, "%s %v: %s", path, query, answer.Error)
	require.NoError(t, json.Unmarshal(answer.Data, data))
}

// alert is one that Prometheus told its alertmanager.
type alert struct {
	Labels map[string]string
	EndsAt time.Time
}

// alertmanager hears alerts.
func alertmanager(t *testing.T) (url string, heard <-chan alert) {
	alerts := make(chan alert, 1000)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var list []alert
		if json.NewDecoder(r.Body).Decode(&list) != nil {
			return
		}
		for _, a := range list {
			select {
			case alerts <- a:
			default:
			}
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, alerts
}

// awaitAlert returns once the alert of that name was heard.
func awaitAlert(t *testing.T, heard <-chan alert, name string) alert {
	t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case a := <-heard:
			if a.Labels["alertname"] == name {
				return a
			}
		case <-timeout:
			t.Fatalf("%s never fired", name)
		}
	}
}

// observedLock is a lock on a simulated server that renews itself.
func observedLock(t *testing.T, by locks.Observer) locks.Locker {
	t.Helper()
	i := slices.IndexFunc(safe.All(), func(k locks.Kind) bool { return k.Name == "lua-watchdog" })
	inner, err := safe.All()[i].New(t.Context(), locks.Clients{Shape: cluster.Single, Redis: redistest.Mini(t).Client(t, nil)}, locks.Options{})
	require.NoError(t, err)
	l := locks.Observed(inner, by)
	t.Cleanup(func() { assert.NoError(t, l.Close()) })
	return l
}

// A lock that is observed, a Prometheus that scrapes it, and the rules that come
// with it: three long holds in a row are an alert, two aren't.
func TestPrometheusFiresTheAlert(t *testing.T) {
	t.Parallel()
	s, lock, runs := exporter(t)
	am, heard := alertmanager(t)
	p := startPrometheus(t, s.URL(), am)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, s.AwaitScrape(ctx), "Prometheus scrapes")
	p.checkRules(t)

	l := observedLock(t, lock)
	hold := func() {
		const ttl = 300 * time.Millisecond
		lease, err := l.Acquire(ctx, "stock:1", ttl)
		require.NoError(t, err)
		time.Sleep(ttl * 9 / 10)
		require.NoError(t, lease.Release(ctx))
	}
	hold()
	hold()
	require.NoError(t, s.AwaitScrape(ctx))
	require.NoError(t, s.AwaitScrape(ctx), "the scrape before is stored by then")
	var two instant
	p.ask(t, "query", url.Values{"query": {"oversell_lock_long_holds_in_a_row_total{lock='stock'}"}}, &two)
	require.Equal(t, "0", two.only(t), "two aren't three")
	hold()
	fired := awaitAlert(t, heard, "OversellLockHeldLong")
	assert.Equal(t, map[string]string{"alertname": "OversellLockHeldLong", "job": "shop", "lock": "stock", "severity": "warning"}, fired.Labels)
	assert.True(t, fired.EndsAt.After(time.Now()), "it is firing")

	runs.Judged(result.Run{Scenario: "ttl-expiry", Lock: "fenced", Verdict: result.Oversold, Gate: result.Fail, Oversold: 1})
	awaitAlert(t, heard, "OversellGateFailed")
	p.checkDashboard(t)
}

// instant is the answer to an instant query.
type instant struct {
	Result []struct {
		Metric map[string]string
		Value  [2]any
	}
}

func (i instant) only(t *testing.T) string {
	t.Helper()
	require.Len(t, i.Result, 1)
	return fmt.Sprint(i.Result[0].Value[1])
}

// checkRules asks whether the rules were loaded.
func (s server) checkRules(t *testing.T) {
	t.Helper()
	var loaded struct {
		Groups []struct {
			Name  string
			Rules []struct{ Name, Type string }
		}
	}
	s.ask(t, "rules", nil, &loaded)
	var names []string
	for _, g := range loaded.Groups {
		for _, r := range g.Rules {
			assert.Equal(t, "alerting", r.Type)
			names = append(names, g.Name+"/"+r.Name)
		}
	}
	assert.Equal(t, []string{
		"oversell-locks/OversellLockHeldLong", "oversell-locks/OversellLockNotHeldAtRelease", "oversell-locks/OversellLockLost",
		"oversell-locks/OversellLockOutcomeUnknown", "oversell-runs/OversellGateFailed",
	}, names)
}
