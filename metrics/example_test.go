package metrics_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/locks/safe"
	"github.com/oversell/oversell/metrics"
)

// A shop that locks its articles, with a log line for every acquire and release
// and with metrics. Any locks.Locker will do; here it is the one that is called
// fenced, on a simulated server.
func Example() {
	server, err := miniredis.Run()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: true})
	defer client.Close()
	ctx := context.Background()
	inner, err := fenced().New(ctx, locks.Clients{Shape: cluster.Single, Redis: client}, locks.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}

	registry := prometheus.NewRegistry() // or prometheus.DefaultRegisterer
	counted, err := metrics.NewLock(registry, "stock")
	if err != nil {
		fmt.Println(err)
		return
	}
	locker := locks.Observed(inner, locks.Log(quiet()), counted)
	defer locker.Close()

	lease, err := locker.Acquire(ctx, "lock:stock:1", 30*time.Second)
	if err != nil {
		fmt.Println(err)
		return
	}
	// ... what the lock guards ...
	if err := lease.Release(ctx); err != nil {
		fmt.Println(err)
	}

	page := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(page, httptest.NewRequest(http.MethodGet, metrics.Path, nil))
	for line := range strings.Lines(page.Body.String()) {
		if strings.HasPrefix(line, "oversell_lock_hold_ttl_ratio_count") || strings.HasPrefix(line, "oversell_lock_long") {
			fmt.Print(line)
		}
	}
	// Output:
	// level=INFO msg="lock acquire" key=lock:stock:1 outcome=acquired ttl=30s
	// level=INFO msg="lock release" key=lock:stock:1 outcome=released ttl=30s renewed=0 lost=false
	// oversell_lock_hold_ttl_ratio_count{lock="stock"} 1
	// oversell_lock_long_holds_in_a_row_total{lock="stock"} 0
}

func fenced() locks.Kind {
	for _, k := range safe.All() {
		if k.Name == "fenced" {
			return k
		}
	}
	panic("there is no such kind")
}

// quiet logs to stdout, without what differs each time: time, waited, held and ratio.
func quiet() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch a.Key {
		case slog.TimeKey, "waited", "held", "ratio":
			return slog.Attr{}
		}
		return a
	}}))
}
