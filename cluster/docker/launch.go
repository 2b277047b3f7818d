package docker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/testcontainers/testcontainers-go"

	"github.com/oversell/oversell/cluster"
)

// plan lists the nodes of a shape, in the order of cluster.Cluster.Nodes.
func plan(s cluster.Shape) ([]planned, error) {
	switch s {
	case cluster.Single:
		return []planned{{"redis", cluster.RoleMaster}}, nil
	case cluster.Sentinel:
		return []planned{
			{"master", cluster.RoleMaster},
			{"replica-1", cluster.RoleReplica}, {"replica-2", cluster.RoleReplica},
			{"sentinel-1", cluster.RoleSentinel}, {"sentinel-2", cluster.RoleSentinel}, {"sentinel-3", cluster.RoleSentinel},
		}, nil
	case cluster.Quorum:
		var list []planned
		for i := range 5 {
			list = append(list, planned{fmt.Sprintf("master-%d", i+1), cluster.RoleMaster})
		}
		return list, nil
	default:
		return nil, fmt.Errorf("the docker backend doesn't know the shape %q", s)
	}
}

type planned struct {
	name string
	role cluster.Role
}

// launch is one cluster on its way up, and all that is needed to remove it.
type launch struct {
	engine *engine
	spec   cluster.Spec
	image  string
	args   []string // added to every server's command line

	clients, replication subnet
	nodes                []*node

	closing sync.Mutex
	closed  bool
}

func newLaunch(e *engine, s cluster.Spec, image string, args []string) *launch {
	return &launch{engine: e, spec: s, image: image, args: args}
}

// startTimeout bounds a start; a machine that needs longer can't hold a run's
// deadlines either.
const startTimeout = 90 * time.Second

// run starts the cluster: networks, containers, servers, all at once, and then
// tells the servers of each other.
func (l *launch) run(ctx context.Context, plan []planned) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not ready within %s", startTimeout))
	defer cancel()
	if err := l.createNetworks(ctx); err != nil {
		return err
	}
	for i, p := range plan {
		l.nodes = append(l.nodes, newNode(l, i, p))
	}
	if err := each(ctx, l.nodes, (*node).create); err != nil {
		return err
	}
	if err := each(ctx, l.nodes, (*node).start); err != nil {
		return err
	}
	if l.spec.Shape == cluster.Sentinel {
		return l.introduce(ctx)
	}
	return nil
}

// createNetworks makes the cluster's network or networks.
func (l *launch) createNetworks(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		l.clients, err = l.engine.createNetwork(ctx, l.name("clients"), false, l.labels(""))
		return err
	})
	if l.spec.Shape == cluster.Sentinel {
		g.Go(func() (err error) {
			l.replication, err = l.engine.createNetwork(ctx, l.name("replication"), true, l.labels(""))
			return err
		})
	}
	return g.Wait()
}

// name is the engine's name for a part of the cluster.
func (l *launch) name(part string) string {
	return "oversell-" + l.spec.Run + "-" + l.spec.Name + "-" + part
}

// labels are those of a node, or with "" of what belongs to the whole cluster.
func (l *launch) labels(node string) map[string]string {
	labels := l.engine.owner.labels(map[string]string{labelRun: l.spec.Run, labelCluster: l.spec.Name})
	if node != "" {
		labels[labelNode] = node
	}
	testcontainers.AddGenericLabels(labels) // so that its reaper, where it runs, sees networks too
	return labels
}

func (l *launch) ofRole(r cluster.Role) []*node {
	var list []*node
	for _, n := range l.nodes {
		if n.role == r {
			list = append(list, n)
		}
	}
	return list
}

// clusterNodes returns the nodes with the abilities that each of them has.
func (l *launch) clusterNodes() []cluster.Node {
	list := asNodes(l.nodes)
	if l.spec.Shape == cluster.Sentinel {
		list[0] = &master{node: l.nodes[0], replicas: asNodes(l.ofRole(cluster.RoleReplica))}
	}
	return list
}

func asNodes(list []*node) []cluster.Node {
	nodes := make([]cluster.Node, len(list))
	for i, n := range list {
		nodes[i] = n
	}
	return nodes
}

// each does something to every node at once, and returns the first error once
// all have ended.
func each(ctx context.Context, nodes []*node, do func(*node, context.Context) error) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, n := range nodes {
		g.Go(func() error {
			if err := do(n, ctx); err != nil {
				return fmt.Errorf("%s: %w", n.name, err)
			}
			return nil
		})
	}
	return g.Wait()
}

// mutateTimeout bounds one request that changes something on the engine.
const mutateTimeout = 30 * time.Second

// mutate makes a request that changes something. It isn't cancelled with ctx:
// the engine would carry it out all the same, perhaps after the clean-up that
// follows a cancellation.
func mutate(ctx context.Context, request func(ctx context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), mutateTimeout)
	defer cancel()
	err := request(rctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the engine didn't answer within %s: %w", mutateTimeout, err)
	}
	return err
}
