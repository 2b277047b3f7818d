package engine

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
	"github.com/oversell/oversell/history"
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
	if p == wire.OnReply {
		e.Away = x.Answered - x.Forwarded
	}
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

// wireHealth tells whether the wire could read all that passed. What it
// couldn't, it let pass unseen: no fault can have been played there.
func (r *run) wireHealth() {
	e := history.Event{Kind: history.ServerHealth, Server: "wire", Phase: "after", Done: true, Text: "all bytes were understood"}
	if err := r.wire.Err(); err != nil {
		e.Done, e.Text = false, firstLine(err.Error())
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
	r.wireHealth()
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
