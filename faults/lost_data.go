package faults

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// Flush empties the lock's server while the key is held.
type Flush struct{}

// Name implements Fault.
func (Flush) Name() string { return "flush" }

// Summary implements Fault.
func (Flush) Summary() string { return "FLUSHALL on the lock's server" }

// Available implements Fault: not on servers that aren't ours.
func (Flush) Available(t Target) error { return ours(t, "FLUSHALL") }

// Inject returns once the server is empty.
func (f Flush) Inject(ctx context.Context, t Target) (result.Evidence, Heal, error) {
	if err := f.Available(t); err != nil {
		return result.Evidence{}, nil, err // never by mistake: it can't be undone
	}
	n := t.Cluster.Nodes[0]
	had, _, err := redisnode.KeyState(ctx, n, t.Plan.Key)
	if err != nil {
		return result.Evidence{}, nil, err
	}
	if _, err := redisnode.Do(ctx, n, "FLUSHALL"); err != nil {
		return result.Evidence{}, nil, fmt.Errorf("flush %s: %w", n.Name(), err)
	}
	noteLoss(t, n)
	return proof(f, t, "FLUSHALL on %s, where the key was held by %q", n.Name(), had), nil, nil
}

// ours returns an error when the servers are somebody else's: to those nothing
// is done that isn't about the run's own keys.
func ours(t Target, act string) error {
	if t.Cluster != nil && t.Cluster.Foreign {
		return fmt.Errorf("%s would hit everything on the servers of the %s backend, and they aren't oversell's", act, t.Cluster.Backend)
	}
	return nil
}

// noteLoss records that a server has the key no more.
func noteLoss(t Target, n cluster.Node) {
	t.History.Record(history.Event{Kind: history.KeyState, Server: n.Name(), Key: t.Plan.Key, TTL: -2})
}

// ClockJump lets the lock server's clock jump ahead. On a server whose clock
// can't be set, what a jump does is done instead: every TTL is shortened by it.
type ClockJump struct {
	TTLs float64 // how far, in TTLs of the lock
}

// Name implements Fault.
func (ClockJump) Name() string { return "clock-jump" }

// Summary implements Fault.
func (ClockJump) Summary() string {
	return "the server's clock jumps ahead, played by shortening every TTL there by the jump"
}

// Available implements Fault: every backend can play it.
func (ClockJump) Available(Target) error { return nil }

// Inject returns once the key has lost the time.
func (f ClockJump) Inject(ctx context.Context, t Target) (result.Evidence, Heal, error) {
	n, jump := t.Cluster.Nodes[0], time.Duration(f.TTLs*float64(t.Plan.TTL))
	_, ttl, err := redisnode.KeyState(ctx, n, t.Plan.Key)
	if err != nil {
		return result.Evidence{}, nil, err
	}
	if ttl < 0 {
		return result.Evidence{}, nil, fmt.Errorf("the key has no TTL on %s (PTTL %d)", n.Name(), ttl)
	}
	left := ttl - jump.Milliseconds()
	reply, err := redisnode.Do(ctx, n, "PEXPIRE", t.Plan.Key, strconv.FormatInt(left, 10))
	if err != nil {
		return result.Evidence{}, nil, fmt.Errorf("shorten the key's TTL on %s: %w", n.Name(), err)
	}
	if reply != int64(1) {
		return result.Evidence{}, nil, fmt.Errorf("shorten the key's TTL on %s: the key was gone before (PEXPIRE answered %v)", n.Name(), reply)
	}
	if left <= 0 {
		noteLoss(t, n)
	}
	return proof(f, t, "%s went ahead by %s, played by shortening every TTL there: the key had %d ms to live, then %d",
		n.Name(), jump, ttl, max(left, 0)), nil, nil
}

// FlushScripts empties the server's script cache while the key is held.
type FlushScripts struct{}

// Name implements Fault.
func (FlushScripts) Name() string { return "flush-scripts" }

// Summary implements Fault.
func (FlushScripts) Summary() string { return "SCRIPT FLUSH on the lock's server" }

// Available implements Fault: not on servers that aren't ours.
func (FlushScripts) Available(t Target) error { return ours(t, "SCRIPT FLUSH") }

// Inject returns once the cache is empty.
func (f FlushScripts) Inject(ctx context.Context, t Target) (result.Evidence, Heal, error) {
	n := t.Cluster.Nodes[0]
	if _, err := redisnode.Do(ctx, n, "SCRIPT", "FLUSH"); err != nil {
		return result.Evidence{}, nil, fmt.Errorf("flush the scripts of %s: %w", n.Name(), err)
	}
	return proof(f, t, "SCRIPT FLUSH on %s", n.Name()), nil, nil
}
