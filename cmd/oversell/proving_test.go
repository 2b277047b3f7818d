package main

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/embedded"
	"github.com/oversell/oversell/cluster/process"
	"github.com/oversell/oversell/internal/engine"
	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/scenarios"
)

// prover plays jobs through the real engine, on servers in this process where
// those can play them, else on processes.
type prover struct {
	*app
	config engine.Config
}

func proving(t *testing.T, a *app) *prover {
	t.Helper()
	return &prover{app: a, config: engine.Config{
		Run: engine.NewRunID(), World: a.world(), Checks: a.checks, Worker: a.worker, Dir: t.TempDir(), AllowSimulated: true,
	}}
}

// kind is the lock of that name.
func (p *prover) kind(t *testing.T, name string) locks.Kind {
	t.Helper()
	k, err := p.findKind(name)
	require.NoError(t, err)
	return k
}

// play plays a job to its end.
func (p *prover) play(t *testing.T, j engine.Job) engine.Ended {
	t.Helper()
	ended, err := p.on(t, embedded.New(), j)
	if errors.Is(err, engine.ErrUnavailable) {
		needsProcesses(t)
		ended, err = p.on(t, process.New(), j)
	}
	require.NoError(t, err)
	return ended
}

func (p *prover) on(t *testing.T, b cluster.Backend, j engine.Job) (ended engine.Ended, err error) {
	t.Helper()
	config := p.config
	config.Backend, config.Ended = b, func(e engine.Ended) { ended = e }
	eng := engine.New(config)
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		assert.NoError(t, eng.Close(ctx))
	}()
	_, err = eng.Run(t.Context(), j)
	return ended, err
}

// needsProcesses skips the test where no server can be started.
func needsProcesses(t *testing.T) {
	t.Helper()
	if ok, err := backendThere(t, process.Name); !ok {
		t.Skipf("needs redis-server: %v", err)
	}
}

func scenarioOf(t *testing.T, a *app, name string) scenarios.Scenario {
	t.Helper()
	i := slices.Index(a.scenarioNames(), name)
	require.GreaterOrEqual(t, i, 0, name)
	return a.scenarios[i]
}
