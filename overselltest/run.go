package overselltest

import (
	"context"
	"fmt"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/embedded"
	"github.com/oversell/oversell/cluster/process"
	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/instance"
	"github.com/oversell/oversell/inventory"
	"github.com/oversell/oversell/inventory/redisstore"
	"github.com/oversell/oversell/locks"
)

type runOptions struct {
	buyers, stock int
	ttl           time.Duration
}

// Run lets many buyers, each in an instance of its own, buy until nothing is
// left, in real time. Every tenth call outlives the TTL by half. It fails the
// test when more is sold than there is. Its server is a redis-server from PATH,
// or else a simulated one, which is logged. A lock that survives has survived
// this once; Explore proves more.
func Run(t *testing.T, newLock NewLock, opts ...Option) {
	t.Helper()
	o := optionsOf(t, newLock, opts)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	lockNode := startServer(ctx, t, "lock")
	inventoryNode := startServer(ctx, t, "inventory")
	store := redisstore.New(client(inventoryNode, o.run.buyers))
	defer store.Close()
	if err := store.Reset(ctx, article, o.run.stock); err != nil {
		t.Fatalf("overselltest: %v", err)
	}
	var buyers sync.WaitGroup
	for n := 1; n <= o.run.buyers; n++ {
		buyers.Go(func() {
			if err := buy(ctx, o, n, lockNode, store); err != nil {
				t.Errorf("overselltest: %v", err)
			}
		})
	}
	buyers.Wait()
	judge(t, o, store)
}

const article = "article"

// startServer starts a server that is gone with the test.
func startServer(ctx context.Context, t *testing.T, name string) cluster.Node {
	t.Helper()
	var b cluster.Backend = process.New()
	if !redisOnPath() {
		t.Log("overselltest: there is no redis-server on PATH: the server is simulated")
		b = embedded.New()
	}
	return startCluster(ctx, t, b, name, cluster.Single).Nodes[0]
}

func redisOnPath() bool {
	_, err := exec.LookPath("redis-server")
	return err == nil
}

// startCluster starts servers that are gone with the test.
func startCluster(ctx context.Context, t *testing.T, b cluster.Backend, name string, shape cluster.Shape) *cluster.Cluster {
	t.Helper()
	c, err := b.Start(ctx, cluster.Spec{Run: fmt.Sprintf("overselltest-%d", time.Now().UnixNano()), Name: name, Shape: shape})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Errorf("overselltest: remove the server: %v", err)
		}
	})
	if err != nil {
		t.Fatalf("overselltest: start a server: %v", err)
	}
	return c
}

func client(n cluster.Node, connections int) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: n.Announced(), Dialer: dialer(n), Protocol: 3, DisableIdentity: true,
		MaxRetries: -1, DialerRetries: 1, PoolSize: connections + 2, ContextTimeoutEnabled: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// buy is the life of one buyer.
func buy(ctx context.Context, o *options, n int, node cluster.Node, store inventory.Store) error {
	c := client(node, 4)
	defer c.Close()
	clients := locks.Clients{Shape: cluster.Single, Redis: c, Dial: dialer(node), Addrs: []string{node.Announced()}}
	retry := o.run.ttl / 10
	l, err := o.c.Kind.New(ctx, clients, locks.Options{RetryEvery: retry})
	if err != nil {
		return fmt.Errorf("make the lock: %w", err)
	}
	defer func() { _ = l.Close() }()
	shop := &instance.Shop{
		Instance: n, Locker: l, Store: store, Key: "lock", SKU: article, TTL: o.run.ttl,
		Fence: o.c.Kind.Fenced, Retry: retry,
		Record: func(history.Event) {},
		Call:   func(ctx context.Context, _ instance.Call) error { return slowForSome(ctx, n, o.run.ttl) },
	}
	shop.Buy(ctx, 1, 1, random(n))
	return nil
}

// slowForSome is the business call: it outlives the TTL for every tenth buyer.
func slowForSome(ctx context.Context, n int, ttl time.Duration) error {
	took := ttl / 50
	if n%10 == 1 {
		took = ttl * 3 / 2
	}
	t := time.NewTimer(took)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func judge(t *testing.T, o *options, store inventory.Store) {
	t.Helper()
	orders, err := store.Orders(t.Context(), article)
	if err != nil {
		t.Fatalf("overselltest: %v", err)
	}
	units, err := store.Units(t.Context(), article)
	if err != nil {
		t.Fatalf("overselltest: %v", err)
	}
	switch {
	case len(orders) > o.run.stock:
		t.Errorf("%s: oversold: %d orders for a stock of %d; Explore shows how", o.name, len(orders), o.run.stock)
	case len(orders)+units != o.run.stock:
		t.Errorf("%s: mismatch: %d orders and %d left of %d; Explore shows how", o.name, len(orders), units, o.run.stock)
	case units > 0 && o.run.buyers >= o.run.stock:
		t.Errorf("%s: stalled: %d of %d are left after a minute", o.name, units, o.run.stock)
	}
}
