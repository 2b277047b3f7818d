package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
	"github.com/oversell/oversell/instance"
	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/inventory"
)

// inventoryName is the inventory in histories and on the wire.
const inventoryName = "inventory"

// storeConns is how many buyers' worth of connections the engine itself needs.
const storeConns = 4

// keeper is the store of record that all runs of an invocation share: a Redis
// server of a backend, or what a source has made available.
type keeper struct {
	store   inventory.Store
	cluster *cluster.Cluster // nil with a source
	place   *inventory.Place // nil without one
}

// driver is that of the store of record.
func (c Config) driver() string {
	if c.Inventory != nil {
		return c.Inventory.Driver()
	}
	return inventory.Redis
}

// openInventory starts the inventory once for all runs.
func (e *Engine) openInventory(ctx context.Context) (inventory.Store, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.inventory != nil {
		return e.inventory.store, nil
	}
	k := &keeper{}
	err := k.start(ctx, e.cfg)
	if err == nil {
		if k.store, err = e.cfg.World.Open(ctx, k.at(), k.dial, storeConns); err != nil {
			err = fmt.Errorf("open the inventory: %w", err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, k.close(context.WithoutCancel(ctx)))
	}
	e.inventory = k
	return k.store, nil
}

func (k *keeper) start(ctx context.Context, cfg Config) (err error) {
	if cfg.Inventory != nil {
		if k.place, err = cfg.Inventory.Start(ctx, cfg.Run); err != nil {
			return fmt.Errorf("start the inventory: %w", err)
		}
		return nil
	}
	backend, version := cfg.Backend, cfg.Redis
	if cfg.InventoryBackend != nil {
		backend, version = cfg.InventoryBackend, ""
	}
	k.cluster, err = backend.Start(ctx, cluster.Spec{
		Run: cfg.Run, Name: inventoryName, Shape: cluster.Single, Version: version,
	})
	if err != nil {
		return fmt.Errorf("start the inventory's server: %w", err)
	}
	return nil
}

// node is the inventory's server where instances reach it through the wire,
// else nil: the wire understands RESP only.
func (k *keeper) node() cluster.Node {
	if k.cluster == nil {
		return nil
	}
	return k.cluster.Nodes[0]
}

// at is how the inventory is reached, without a way through the wire.
func (k *keeper) at() instance.Inventory {
	if n := k.node(); n != nil {
		return instance.Inventory{
			Driver: inventory.Redis,
			Server: instance.Server{Name: inventoryName, Role: n.Role(), Announced: n.Announced()},
		}
	}
	return instance.Inventory{Driver: k.place.Driver, DSN: k.place.DSN, Schema: k.place.Schema}
}

// dial reaches the inventory's server, where that is one of a backend's.
func (k *keeper) dial(ctx context.Context, _, _ string) (conn, error) { return k.node().Dial(ctx) }

// health asks the inventory whether it is there, and returns what it is.
func (k *keeper) health(ctx context.Context, sku string) (string, error) {
	if n := k.node(); n != nil {
		return "PONG", redisnode.Ping(ctx, n)
	}
	_, err := k.store.Units(ctx, sku)
	return k.place.Server, err
}

// lost is closed when the inventory has gone for good; nil when nobody can tell.
func (k *keeper) lost() <-chan struct{} {
	if k.place == nil {
		return nil
	}
	return k.place.Lost
}

// gone explains why a run can't be counted: without the truth there is nothing
// to judge. It returns nil where a run without a count is judged nonetheless.
func (k *keeper) gone(err error) error {
	if err == nil || k.place == nil {
		return nil
	}
	select {
	case <-k.lost():
		err = k.place.Why()
	default:
	}
	advice := hint.Of(err)
	if advice == "" {
		advice = "see why the inventory's server doesn't answer, and run it again"
	}
	return hint.Wrap(fmt.Errorf("the inventory was lost during the run, so nothing can be judged: %w", err), "%s", advice)
}

// close closes the store and removes what was started for it.
func (k *keeper) close(ctx context.Context) error {
	if k == nil {
		return nil
	}
	if k.store != nil {
		_ = k.store.Close()
	}
	if err := k.cluster.Close(ctx); err != nil {
		return err
	}
	return k.place.Close(ctx)
}
