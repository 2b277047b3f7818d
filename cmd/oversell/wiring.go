package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/oversell/oversell/checks"
	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/docker"
	"github.com/oversell/oversell/cluster/embedded"
	"github.com/oversell/oversell/cluster/process"
	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/instance"
	"github.com/oversell/oversell/internal/doctor"
	"github.com/oversell/oversell/internal/engine"
	"github.com/oversell/oversell/inventory"
	"github.com/oversell/oversell/inventory/pgserver"
	"github.com/oversell/oversell/inventory/pgstore"
	"github.com/oversell/oversell/inventory/redisstore"
	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/locks/naive"
	"github.com/oversell/oversell/locks/peers"
	"github.com/oversell/oversell/locks/safe"
	"github.com/oversell/oversell/reports"
	"github.com/oversell/oversell/scenarios"
)

// join joins the lists: this is the one place that knows all of them.
func (a *app) join() {
	containers, processes := docker.New(), process.New()

	a.scenarios = scenarios.All()
	a.groups = map[string][]locks.Kind{naiveGroup: naive.All(), safeGroup: safe.All(), peersGroup: peers.All()}
	a.kinds = slices.Concat(a.groups[naiveGroup], a.groups[safeGroup], a.groups[peersGroup])
	a.faults = faults.All()
	a.checks = checks.All()
	a.formats = reports.All()
	a.backends = []cluster.Backend{containers, processes, embedded.New()}
	a.sweepers = []sweeper{
		{name: containers.Name(), leftovers: containers.Leftovers, clean: containers.Clean},
		{name: processes.Name(), leftovers: folders(processes.Leftovers), clean: folders(processes.Clean)},
	}
	a.details = []doctor.Check{
		dockerDetails(containers),
		doctor.Binary("redis-server", "install redis-server for the process backend"),
		doctor.Binary("redis-sentinel", "install redis-sentinel, or let redis-server --sentinel do its work"),
		{Name: "postgresql", Look: func(ctx context.Context) []doctor.Line {
			what, err := pgserver.New(nil).Probe(ctx)
			return []doctor.Line{doctor.Found(what, err)}
		}},
	}
	a.open = openInventory
	a.postgres = postgresSource
	a.newEngine = func(c engine.Config) player { return engine.New(c) }
	a.worker = workerCommand()
	if a.env != nil {
		a.guarded = guard(a)
	}
}

// folders puts the word "folder" before each path.
func folders(list func(context.Context) ([]string, error)) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		paths, err := list(ctx)
		for i, p := range paths {
			paths[i] = "folder " + p
		}
		return paths, err
	}
}

// openInventory opens the store of record for an instance or for the engine.
func openInventory(ctx context.Context, at instance.Inventory, dial instance.Dialer, buyers int) (inventory.Store, error) {
	switch at.Driver {
	case inventory.Redis:
		return redisstore.New(instance.InventoryClient(at.Announced, dial, buyers)), nil
	case inventory.Postgres:
		return pgstore.Open(ctx, at.DSN, pgstore.Options{Schema: at.Schema})
	}
	return nil, fmt.Errorf("no inventory has the driver %q", at.Driver)
}

// postgresSource is PostgreSQL at a URL, or one to be started: in a container
// where the locks' servers are in containers, too.
func postgresSource(url string, b cluster.Backend) inventory.Source {
	if url != "" {
		return pgstore.NewExisting(url)
	}
	if containers, ok := b.(*docker.Backend); ok {
		return pgserver.New(containers)
	}
	return pgserver.New(nil)
}

// workerCommand re-executes this program. On Linux that works even when its
// file has been replaced meanwhile.
func workerCommand() []string {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err == nil {
		return []string{self, instanceCommand}
	}
	path, err := os.Executable()
	if err != nil {
		path = os.Args[0]
	}
	return []string{path, instanceCommand}
}
