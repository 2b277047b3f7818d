package engine

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
	"github.com/oversell/oversell/wire"
)

type conn = net.Conn

// onWire is a wire.Handler: it records what the servers granted, and what they
// may have granted. Refused attempts to acquire are counted only; waiting
// buyers make thousands.
func (r *run) onWire(_ context.Context, p wire.Point, x *wire.Exchange) wire.Action {
	if p == wire.OnCommand || x.Key != r.plan.Key || x.Role == wire.Other {
		return wire.Pass
	}
	e := history.Event{
		At: x.Answered, Instance: x.Instance, Server: x.Server, Command: x.Name, Role: string(x.Role),
		Key: x.Key, Value: x.Value, Text: x.Reply.Text, Done: x.Reply.Granted(),
	}
	switch {
	case p == wire.OnLost:
		e.Kind, e.At = history.WireUnanswered, r.rec.Now()
	case x.Role == wire.Acquire && !e.Done:
		r.polls.Add(1)
		return wire.Pass
	default:
		e.Kind = answeredKinds[x.Role]
	}
	e.Took = e.At - x.Parsed
	r.rec.Record(e)
	return wire.Pass
}

// answeredKinds are the kinds of events that a reply makes, by the command's role.
var answeredKinds = map[wire.Role]history.Kind{
	wire.Acquire: history.WireAcquired,
	wire.Expire:  history.WireExpire,
	wire.Renew:   history.WireRenewed,
	wire.Release: history.WireReleased,
}

// askTimeout bounds one question to a server that may be gone.
const askTimeout = 2 * time.Second

// health asks every server whether it is there.
func (r *run) health(ctx context.Context, phase string) {
	look := func(server string, ask func(ctx context.Context) (string, error)) {
		e := history.Event{Kind: history.ServerHealth, Server: server, Phase: phase, Done: true}
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		var err error
		if e.Text, err = ask(ctx); err != nil {
			e.Done, e.Text = false, firstLine(err.Error())
		}
		r.rec.Record(e)
	}
	look(inventoryName, func(ctx context.Context) (string, error) { return r.e.inventory.health(ctx, r.plan.SKU) })
	for _, n := range r.lock.Nodes {
		look(n.Name(), func(ctx context.Context) (string, error) { return "PONG", redisnode.Ping(ctx, n) })
	}
	r.masterHealth(ctx, phase)
}

// masterHealth tells whether the sentinels still name the master that was
// there at the start, or the one that a fault had them promote. A failover
// that nobody planned makes the run worthless.
func (r *run) masterHealth(ctx context.Context, phase string) {
	if r.lock.Shape != cluster.Sentinel {
		return
	}
	planned := ""
	for _, n := range r.lock.Nodes {
		if n.Role() == cluster.RoleMaster {
			planned = n.Name()
		}
	}
	for _, e := range r.rec.Events() {
		if e.Kind == history.ServerRole && e.Text == "promoted" {
			planned = e.Server
		}
	}
	e := history.Event{Kind: history.ServerHealth, Server: "sentinels", Phase: phase}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	n, err := redisnode.CurrentMaster(ctx, r.lock)
	switch {
	case err != nil:
		e.Text = firstLine(err.Error())
	case n.Name() != planned:
		e.Text = fmt.Sprintf("they made %s the master, and nobody planned that", n.Name())
	default:
		e.Done, e.Text = true, n.Name()+" is the master"
	}
	r.rec.Record(e)
}

// keyStates records what every master holds under the lock's key.
func (r *run) keyStates(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	for _, n := range masters(ctx, r.lock) {
		value, ttl, err := redisnode.KeyState(ctx, n, r.plan.Key)
		e := history.Event{Kind: history.KeyState, Server: n.Name(), Key: r.plan.Key, Value: value, TTL: ttl}
		if err != nil {
			e.Err = firstLine(err.Error())
		}
		r.rec.Record(e)
	}
}

// masters are the servers that hold locks now.
func masters(ctx context.Context, c *cluster.Cluster) []cluster.Node {
	if c.Shape != cluster.Sentinel {
		return c.Nodes
	}
	n, err := redisnode.CurrentMaster(ctx, c)
	if err != nil {
		return nil
	}
	return []cluster.Node{n}
}

// count reads the inventory after the load: the truth that is judged. It is
// done also when ctx has ended, so that an interrupted run can be judged. With
// an error there is nothing to judge.
func (r *run) count(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*askTimeout)
	defer cancel()
	r.rec.Record(history.Event{Kind: history.WirePolls, Count: int(r.polls.Load())})
	r.health(ctx, "after")
	r.info.record()
	units, err := r.store.Units(ctx, r.plan.SKU)
	if err != nil {
		return r.e.inventory.gone(err) // else the run is inconclusive without a count
	}
	orders, err := r.store.Orders(ctx, r.plan.SKU)
	if err != nil {
		return r.e.inventory.gone(err)
	}
	for _, o := range orders {
		r.rec.Record(history.Event{
			Kind: history.OrderFound, Purchase: o.ID, Token: o.Token, Instance: o.Instance, Buyer: o.Buyer,
		})
	}
	r.rec.Record(history.Event{Kind: history.StockCounted, Units: units, Count: len(orders)})
	return nil
}

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
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.over = values, s.rec.Now()
	if s.first == nil {
		s.first, s.begun = values, s.over
	}
	for k, v := range values {
		s.most[k] = max(s.most[k], v)
	}
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
	out := map[string]any{}
	seconds := (s.over - s.begun).Seconds()
	if seconds <= 0 {
		return out
	}
	grew := func(name string) (float64, bool) {
		v, ok := s.last[name]
		return v - s.first[name], ok && v >= s.first[name]
	}
	if cpu, ok := grew("used_cpu"); ok {
		out[result.InfoCPU] = round1(100 * cpu / seconds)
	}
	if n, ok := grew("total_commands_processed"); ok {
		out[result.InfoCommands] = round1(n / seconds)
	}
	if n, ok := grew("slowlog_len"); ok {
		out[result.InfoSlowLog] = n
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
