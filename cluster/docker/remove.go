package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
	"github.com/oversell/oversell/internal/hint"
)

// closeTimeout bounds a whole removal, also after ctx has ended. It is generous:
// an engine on a busy machine has been seen to stand still for fifteen seconds.
const closeTimeout = time.Minute

// close saves the logs and removes everything that carries the cluster's labels,
// whether run knows of it or not. Logs that can't be saved don't stop it. Once
// it has succeeded, later calls do nothing.
func (l *launch) close(ctx context.Context) error {
	l.closing.Lock()
	defer l.closing.Unlock()
	if l.closed {
		return nil
	}
	defer l.engine.idle()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	logs := l.saveLogs(ctx)
	items, err := l.engine.list(ctx,
		labelRun+"="+l.spec.Run, labelCluster+"="+l.spec.Name,
		labelPID+"="+fmt.Sprint(l.engine.owner.pid), labelStart+"="+l.engine.owner.start)
	if err == nil {
		_, err = l.engine.remove(ctx, items)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("remove cluster %s: %w", l.spec.Name, explain(err)), logs)
	}
	l.closed = true
	return logs
}

func (l *launch) saveLogs(ctx context.Context) error {
	if l.spec.LogDir == "" {
		return nil
	}
	errs := make([]error, len(l.nodes))
	var wg sync.WaitGroup
	for i, n := range l.nodes {
		if n.id != "" {
			wg.Go(func() { errs[i] = n.saveLog(ctx) })
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}

// item is a container or a network.
type item struct {
	kind, id, name string
	labels         map[string]string
}

const (
	kindContainer = "container"
	kindNetwork   = "network"
)

func (i item) String() string { return i.kind + " " + i.name }

// list returns the containers, then the networks, that carry all of labels.
func (e *engine) list(ctx context.Context, labels ...string) ([]item, error) {
	filters := make(client.Filters).Add("label", labels...)
	containers, err := e.api.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: filters})
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	networks, err := e.api.NetworkList(ctx, client.NetworkListOptions{Filters: filters})
	if err != nil {
		return nil, fmt.Errorf("list networks: %w", err)
	}
	var items []item
	for _, c := range containers.Items {
		name := c.ID
		if len(c.Names) > 0 {
			name = strings.TrimPrefix(c.Names[0], "/")
		}
		items = append(items, item{kindContainer, c.ID, name, c.Labels})
	}
	for _, n := range networks.Items {
		items = append(items, item{kindNetwork, n.ID, n.Name, n.Labels})
	}
	return items, nil
}

// remove kills and removes the items, networks last, and returns what it
// removed. It goes on after an error. What someone else removes meanwhile is no error.
func (e *engine) remove(ctx context.Context, items []item) ([]item, error) {
	var removed []item
	var errs []error
	for _, step := range []struct {
		kind   string
		remove func(context.Context, string) error
	}{{kindContainer, e.removeContainer}, {kindNetwork, e.removeNetwork}} {
		var mu sync.Mutex
		var wg sync.WaitGroup
		for _, i := range items {
			if i.kind != step.kind {
				continue
			}
			wg.Go(func() {
				err := step.remove(ctx, i.id)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					errs = append(errs, fmt.Errorf("remove %s: %w", i, err))
					return
				}
				removed = append(removed, i)
			})
		}
		wg.Wait()
	}
	return removed, errors.Join(errs...)
}

// removeContainer returns once the container is gone. There is no grace as in
// testcontainers' Terminate: there is nothing that a server would have to save.
func (e *engine) removeContainer(ctx context.Context, id string) error {
	return redisnode.Until(ctx, func(ctx context.Context) error {
		_, err := e.api.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		switch {
		case err == nil, errdefs.IsNotFound(err):
			return nil
		case errdefs.IsConflict(err): // "removal is already in progress": look again until it is gone
			return err
		default:
			return redisnode.GiveUp(err)
		}
	})
}

// staleAfter is how long a network may count as in use after the last container
// has left it. The engine has been seen to lose count on a busy machine; then
// nothing but its restart frees the network.
const staleAfter = 3 * time.Second

// removeNetwork returns once the network is gone. The error of one that nothing
// is in, and that the engine still won't remove, is a cluster.Leftover.
func (e *engine) removeNetwork(ctx context.Context, id string) error {
	began := time.Now()
	return redisnode.Until(ctx, func(ctx context.Context) error {
		_, err := e.api.NetworkRemove(ctx, id, client.NetworkRemoveOptions{})
		switch {
		case err == nil, errdefs.IsNotFound(err):
			return nil
		case !strings.Contains(err.Error(), "active endpoints"):
			return redisnode.GiveUp(err)
		case time.Since(began) > staleAfter && e.empty(ctx, id):
			return redisnode.GiveUp(&cluster.Leftover{Err: hint.Wrap(err,
				"nothing is in it: the engine has lost count; once it was restarted, oversell clean removes the network")})
		default: // of a container that is on its way out
			return err
		}
	})
}

// empty reports whether no container is in the network.
func (e *engine) empty(ctx context.Context, id string) bool {
	n, err := e.api.NetworkInspect(ctx, id, client.NetworkInspectOptions{})
	return err == nil && len(n.Network.Containers) == 0
}
