package docker

import (
	"context"
	"fmt"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// Kill implements cluster.Killer. It is an error if the server had already gone:
// then this kill had no effect.
func (n *node) Kill(ctx context.Context) (string, error) {
	api := n.launch.engine.api
	n.mu.Lock()
	n.down = true
	n.mu.Unlock()
	if _, err := api.ContainerKill(ctx, n.id, client.ContainerKillOptions{Signal: "KILL"}); err != nil {
		return "", n.killFailed(ctx, err)
	}
	w := api.ContainerWait(ctx, n.id, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	select {
	case r := <-w.Result:
		if r.Error != nil {
			return "", fmt.Errorf("kill %s: wait for its end: %s", n.name, r.Error.Message)
		}
		return fmt.Sprintf("container exited, code %d", r.StatusCode), nil
	case err := <-w.Error:
		return "", fmt.Errorf("kill %s: wait for its end: %w", n.name, explain(err))
	case <-ctx.Done():
		return "", fmt.Errorf("kill %s: wait for its end: %w", n.name, context.Cause(ctx))
	}
}

// killFailed puts down right again if the server goes on, and says what the matter is.
func (n *node) killFailed(ctx context.Context, cause error) error {
	i, err := n.inspect(ctx)
	if err == nil && !i.State.Running {
		return fmt.Errorf("kill %s: it isn't running (exited, code %d): %w", n.name, i.State.ExitCode, cause)
	}
	n.mu.Lock()
	n.down = false
	n.mu.Unlock()
	return fmt.Errorf("kill %s: %w", n.name, explain(cause))
}

// Restart implements cluster.Killer. Where replication was cut it stays cut.
func (n *node) Restart(ctx context.Context) error {
	i, err := n.inspect(ctx)
	if err != nil {
		return fmt.Errorf("restart %s: %w", n.name, err)
	}
	if i.State.Running {
		return fmt.Errorf("restart %s: it is running", n.name)
	}
	if err := n.start(ctx); err != nil {
		return fmt.Errorf("restart %s: %w", n.name, explain(err))
	}
	return nil
}

// Pause implements cluster.Pauser.
func (n *node) Pause(ctx context.Context) error {
	if _, err := n.launch.engine.api.ContainerPause(ctx, n.id, client.ContainerPauseOptions{}); err != nil {
		return fmt.Errorf("pause %s: %w", n.name, explain(err))
	}
	return nil
}

// Resume implements cluster.Pauser.
func (n *node) Resume(ctx context.Context) error {
	if _, err := n.launch.engine.api.ContainerUnpause(ctx, n.id, client.ContainerUnpauseOptions{}); err != nil {
		return fmt.Errorf("resume %s: %w", n.name, explain(err))
	}
	return nil
}
