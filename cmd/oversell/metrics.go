package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/metrics"
)

// metricsOptions is what the command line says of metrics.
type metricsOptions struct {
	Metrics       string // where to serve them; "" for nowhere
	MetricsLinger time.Duration

	exporter *metrics.Exporter // nil until something is played
}

func addMetricsFlags(f *pflag.FlagSet, o *metricsOptions) {
	f.StringVar(&o.Metrics, "metrics", "", "serve Prometheus metrics while it plays, at [HOST:]PORT; the host is 127.0.0.1 unless you name one, and port 0 is a free one")
	f.DurationVar(&o.MetricsLinger, "metrics-linger", 0, "at the end, wait for one more scrape, but no longer than this")
}

// check refuses what can be told to be wrong before anything is started.
func (o *metricsOptions) check() error {
	switch {
	case o.MetricsLinger < 0:
		return usagef("--metrics-linger must be 0 or more, got %s", o.MetricsLinger)
	case o.Metrics == "" && o.MetricsLinger > 0:
		return hint.Wrap(usagef("--metrics-linger is for --metrics"), "for example --metrics 9464 --metrics-linger 30s")
	case o.Metrics == "":
		return nil
	}
	if _, err := metrics.Address(o.Metrics); err != nil {
		return hint.Wrap(usagef("--metrics: %w", err), "for example --metrics 9464, or --metrics 0.0.0.0:9464 to be reached from other machines")
	}
	return nil
}

// export begins to serve metrics, and says where.
func (a *app) export(o *metricsOptions) error {
	b := readBuild()
	exporter, err := metrics.Export(o.Metrics, metrics.Build{Version: b.Version, Commit: b.Commit, Go: b.Go})
	if err != nil {
		return environment(hint.Wrap(fmt.Errorf("--metrics: %w", err), "choose another address; port 0 takes a free one"))
	}
	a.notes.say("metrics at %s", exporter.URL())
	o.exporter = exporter
	return nil
}

// endMetrics waits for one more scrape, where that is wanted, and ends serving:
// without it, what was counted last went nowhere.
func (a *app) endMetrics(ctx context.Context, o *metricsOptions) {
	if o.exporter == nil {
		return
	}
	if o.MetricsLinger > 0 && ctx.Err() == nil {
		await := o.exporter.ExpectScrape() // a scrape that comes on hearing of it counts
		a.notes.say("waiting for one more scrape, for %s at most", o.MetricsLinger)
		waiting, cancel := context.WithTimeout(ctx, o.MetricsLinger)
		if await(waiting) != nil && ctx.Err() == nil {
			a.notes.say("no scrape came within %s", o.MetricsLinger)
		}
		cancel()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = o.exporter.Close(ctx) // a scrape that still goes on is cut off
}
