package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster/process"
	"github.com/oversell/oversell/internal/engine"
	"github.com/oversell/oversell/inventory"
	"github.com/oversell/oversell/inventory/inventorytest"
	"github.com/oversell/oversell/inventory/pgserver"
	"github.com/oversell/oversell/result"
)

// TestBothInventoriesTellTheSame plays cells with the stock in Redis and in
// PostgreSQL: which of the two keeps the truth makes no difference to it.
func TestBothInventoriesTellTheSame(t *testing.T) {
	t.Parallel()
	needsProcesses(t)
	inventorytest.RequirePostgres(t)
	a := &app{}
	a.join()
	cells := []struct {
		scenario, lock string
		verdict        result.Verdict
		refuses        bool // the fence turns somebody away
	}{
		{"ttl-expiry", "setnx-expire-del", result.Oversold, false},
		{"flushed", "lua-watchdog", result.Oversold, false},
		{"flushed", "fenced", result.OK, true},
		{"bypass", "lua-release", result.Oversold, false},
		{"bypass", "fenced", result.OK, true},
		{"manual-failover", "fenced", result.OK, true},
	}
	for name, source := range map[string]inventory.Source{inventory.Redis: nil, inventory.Postgres: pgserver.New(nil)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eng := engine.New(engine.Config{
				Run: engine.NewRunID(), Backend: process.New(), Inventory: source, World: a.world(), Checks: a.checks, Worker: a.worker,
				Dir: t.TempDir(), Reuse: true,
			})
			defer func() {
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
				defer cancel()
				assert.NoError(t, eng.Close(ctx))
			}()
			for _, c := range cells {
				s := scenarioOf(t, a, c.scenario)
				s.Load.Stock, s.Load.Instances, s.Load.Buyers = 30, 2, 40
				k, err := a.findKind(c.lock)
				require.NoError(t, err)
				r, err := eng.Run(t.Context(), engine.Job{Scenario: s, Kind: k, Seed: 7})
				require.NoError(t, err)
				cell := c.scenario + " under " + c.lock
				assert.Equal(t, c.verdict, r.Verdict, "%s: %+v", cell, r.Findings)
				assert.Equal(t, c.verdict == result.Oversold, r.Oversold > 0, "%s: %d too many", cell, r.Oversold)
				assert.Equal(t, c.refuses, r.FenceRefused > 0, "%s: the fence refused %d", cell, r.FenceRefused)
				if c.verdict == result.OK {
					assert.Equal(t, 30, r.Sold, cell)
					assert.Zero(t, r.Stock.Left, cell)
				}
			}
		})
	}
}
