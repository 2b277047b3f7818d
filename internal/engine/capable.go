package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
)

// capabilities is what an engine has learned of its servers. Safe for
// concurrent use.
type capabilities struct {
	asking sync.Mutex // held while a server is asked: others wait for the answer

	mu    sync.Mutex
	asked map[string]bool   // by server and capability
	lacks map[string]string // why not, where a server lacks it
}

func capabilityKey(version string, s cluster.Shape, c cluster.Capability) string {
	return fmt.Sprint(version, "/", s, "/", c)
}

// refuse returns an error that wraps ErrUnavailable when it is known already
// that the servers lack what j's kind needs.
func (k *capabilities) refuse(j Job, version string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range j.Kind.Needs {
		if why := k.lacks[capabilityKey(version, j.Scenario.Shape, c)]; why != "" {
			return &Unavailable{j.Scenario.Name, j.Kind.Name, fmt.Errorf("the lock needs %s, and the server says %q", c, why)}
		}
	}
	return nil
}

// unasked are the capabilities that j's kind needs and nobody has asked for yet.
func (k *capabilities) unasked(j Job, version string) []cluster.Capability {
	k.mu.Lock()
	defer k.mu.Unlock()
	var list []cluster.Capability
	for _, c := range j.Kind.Needs {
		if !k.asked[capabilityKey(version, j.Scenario.Shape, c)] {
			list = append(list, c)
		}
	}
	return list
}

func (k *capabilities) learn(version string, s cluster.Shape, c cluster.Capability, why string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.asked == nil {
		k.asked, k.lacks = map[string]bool{}, map[string]string{}
	}
	key := capabilityKey(version, s, c)
	k.asked[key] = true
	if why != "" {
		k.lacks[key] = why
	}
}

// capable asks the servers for what j's kind needs, unless an earlier job did.
// It returns an error that wraps ErrUnavailable when they lack it.
func (e *Engine) capable(ctx context.Context, j Job) error {
	if len(j.Kind.Needs) == 0 {
		return nil
	}
	e.known.asking.Lock()
	defer e.known.asking.Unlock()
	version := e.version(j)
	wanted := e.known.unasked(j, version)
	if len(wanted) == 0 {
		return e.known.refuse(j, version)
	}
	n, done, err := e.witness(ctx, j)
	if err != nil {
		return err
	}
	for _, c := range wanted {
		why, askErr := redisnode.Lacks(ctx, n, c)
		if err = askErr; err != nil {
			break
		}
		e.known.learn(version, j.Scenario.Shape, c, why)
	}
	if err := errors.Join(err, done(context.WithoutCancel(ctx))); err != nil {
		return fmt.Errorf("ask the server what it can do: %w", err)
	}
	return e.known.refuse(j, version)
}

// witness is a server that can do what the servers of j will be able to: the
// inventory's, where that is of the same kind, else one that is started for
// the question.
func (e *Engine) witness(ctx context.Context, j Job) (cluster.Node, func(context.Context) error, error) {
	if e.cfg.Inventory == nil && e.cfg.InventoryBackend == nil && e.version(j) == e.cfg.Redis {
		if _, err := e.openInventory(ctx); err != nil {
			return nil, nil, err
		}
		return e.inventory.node(), func(context.Context) error { return nil }, nil
	}
	c, err := e.cfg.Backend.Start(ctx, cluster.Spec{
		Run: e.cfg.Run, Name: fmt.Sprintf("witness-%s-%s", j.Scenario.Shape, e.version(j)), Shape: j.Scenario.Shape, Version: e.version(j),
	})
	done := func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, cleanTimeout)
		defer cancel()
		return c.Close(ctx)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("start a server to ask what it can do: %w", errors.Join(err, done(context.WithoutCancel(ctx))))
	}
	return c.Nodes[0], done, nil
}
