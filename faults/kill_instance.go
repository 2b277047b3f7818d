package faults

import (
	"context"
	"fmt"
	"time"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// KillInstance kills the instance that reached the trigger's point with
// SIGKILL, while that point stands still.
type KillInstance struct{}

// Name implements Fault.
func (KillInstance) Name() string { return "kill-instance" }

// Summary implements Fault.
func (KillInstance) Summary() string {
	return "the instance's process is killed with SIGKILL at exactly this point"
}

// Available implements Fault: goroutines can't be killed.
func (KillInstance) Available(t Target) error {
	if !t.Real {
		return fmt.Errorf("kill %w", ErrNotReal)
	}
	return nil
}

// killBound bounds the wait for a process to be gone after SIGKILL.
const killBound = 5 * time.Second

// Inject returns once the process is gone. ctx may be that of the instance,
// which ends with it.
func (f KillInstance) Inject(ctx context.Context, t Target) (result.Evidence, Heal, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killBound)
	defer cancel()
	how, err := t.Instance.Kill(ctx)
	if err != nil {
		return result.Evidence{}, nil, fmt.Errorf("kill instance %d: %w", t.Moment.Instance, err)
	}
	at := ""
	if t.Moment.Purchase != "" {
		at = fmt.Sprintf("; %s was in its call", history.Who(t.Moment.Purchase))
	}
	if x := t.Moment.Exchange; x != nil {
		at = fmt.Sprintf("; the reply %q to its %s had left %s and never reached it", x.Reply.Text, x.Name, x.Server)
	}
	return proof(f, t, "instance %d, %s%s", t.Moment.Instance, how, at), nil, nil
}
