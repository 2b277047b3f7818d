package engine

import (
	"context"
	"sync"
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// sampler keeps what the dashboards of the incident showed of the lock's server.
type sampler struct {
	rec *history.Recorder
	c   *cluster.Cluster

	mu          sync.Mutex
	first, last map[string]float64
	begun, over time.Duration
	most        map[string]float64
}

func newSampler(rec *history.Recorder, c *cluster.Cluster) *sampler {
	return &sampler{rec: rec, c: c, most: map[string]float64{}}
}

// sampleEvery is how often the server is asked for its own metrics.
const sampleEvery = 250 * time.Millisecond

// watch samples until the returned function is called.
func (s *sampler) watch(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(sampleEvery)
		defer tick.Stop()
		for {
			s.sample(ctx)
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		last, done := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
		s.sample(last)
		done()
		cancel()
		wg.Wait()
	}
}

// sample asks the node that was the master when the run began, as a dashboard
// would; when it is gone the values stay as they were.
func (s *sampler) sample(ctx context.Context) {
	info, err := redisnode.ServerInfo(ctx, s.c.Nodes[0])
	if err != nil {
		return
	}
	values := map[string]float64{}
	for k, v := range info {
		if f, ok := number(v); ok {
			values[k] = f
		}
	}
	now := s.rec.Now()
	if figures := s.keep(values, now); len(figures) > 0 {
		s.rec.Record(history.Event{Kind: history.ServerSampled, At: now, Server: s.c.Nodes[0].Name(), Info: figures})
	}
}

// keep remembers a sample and returns the server's figures since the one before.
func (s *sampler) keep(values map[string]float64, now time.Duration) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == nil {
		s.first, s.begun = values, now
	}
	figures := s.since(values, now)
	s.last, s.over = values, now
	for k, v := range values {
		s.most[k] = max(s.most[k], v)
	}
	return figures
}

// since are the figures of the time since the last sample, in the names of
// result.Info*. The slow log is counted since the first.
func (s *sampler) since(values map[string]float64, now time.Duration) map[string]any {
	out := rates(s.last, values, now-s.over)
	for name, field := range map[string]string{result.InfoMemory: "used_memory", result.InfoConnections: "connected_clients"} {
		if v, ok := values[field]; ok {
			out[name] = v
		}
	}
	if v, ok := values["slowlog_len"]; ok {
		out[result.InfoSlowLog] = max(0, v-s.first["slowlog_len"])
	}
	return out
}

// rates are the figures per second between two samples. There are none of no
// time, without an earlier sample, or of what began anew in between.
func rates(from, to map[string]float64, took time.Duration) map[string]any {
	out := map[string]any{}
	seconds := took.Seconds()
	if from == nil || seconds <= 0 {
		return out
	}
	if v, ok := to["used_cpu"]; ok && v >= from["used_cpu"] {
		out[result.InfoCPU] = round1(100 * (v - from["used_cpu"]) / seconds)
	}
	if v, ok := to["total_commands_processed"]; ok && v >= from["total_commands_processed"] {
		out[result.InfoCommands] = round1((v - from["total_commands_processed"]) / seconds)
	}
	return out
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}

// summary is the server's side of the run, in the names of result.Info*.
func (s *sampler) summary() map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	took := s.over - s.begun
	out := rates(s.first, s.last, took)
	if took <= 0 {
		return out
	}
	if n, ok := s.last["slowlog_len"]; ok && n >= s.first["slowlog_len"] {
		out[result.InfoSlowLog] = n - s.first["slowlog_len"]
	}
	if n, ok := s.most["used_memory"]; ok {
		out[result.InfoMemory] = n
	}
	if n, ok := s.most["connected_clients"]; ok {
		out[result.InfoConnections] = n
	}
	return out
}

func round1(f float64) float64 { return float64(int64(f*10+0.5)) / 10 }

// record puts the summary into the history.
func (s *sampler) record() {
	s.rec.Record(history.Event{Kind: history.ServerInfo, Server: s.c.Nodes[0].Name(), Info: s.summary()})
}
