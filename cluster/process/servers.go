package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
	"github.com/oversell/oversell/internal/folder"
)

const (
	replicas  = 2
	sentinels = 3
	masters   = 5 // of the quorum shape

	// linkTimeout bounds how long replicas and sentinels may take to find each
	// other, on a slow machine and with a server that knows no debugPeriods.
	linkTimeout = 60 * time.Second
	// closeTimeout bounds how long killed processes may take to go.
	closeTimeout = 10 * time.Second
)

// servers are the processes of one cluster.
type servers struct {
	spec   cluster.Spec
	bin    binary
	folder *folder.Folder
	all    []*node // in the order in which they are listed; filled before they start

	once     sync.Once
	closeErr error
}

// nodes are the servers as their cluster lists them.
func (s *servers) nodes() []cluster.Node {
	var rest []*node
	for _, n := range s.all {
		if n.role == cluster.RoleReplica {
			rest = append(rest, n)
		}
	}
	list := make([]cluster.Node, len(s.all))
	for i, n := range s.all {
		if n.role == cluster.RoleMaster && len(rest) > 0 {
			list[i] = &isolator{node: n, replicas: rest}
			continue
		}
		list[i] = n
	}
	return list
}

func (s *servers) start(ctx context.Context) error {
	switch s.spec.Shape {
	case cluster.Sentinel:
		return s.startSentinel(ctx)
	case cluster.Quorum:
		return s.startAll(ctx, s.add(cluster.RoleMaster, "master-%d", masters), 0)
	default:
		return s.startAll(ctx, s.add(cluster.RoleMaster, "redis", 1), 0)
	}
}

func (s *servers) startSentinel(ctx context.Context) error {
	master := s.add(cluster.RoleMaster, "master", 1)
	rest := s.add(cluster.RoleReplica, "replica-%d", replicas)
	watching := s.add(cluster.RoleSentinel, "sentinel-%d", sentinels)

	if err := s.startAll(ctx, master, 0); err != nil {
		return err
	}
	port := master[0].port
	if err := s.startAll(ctx, rest, port); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, linkTimeout, fmt.Errorf("not within %s", linkTimeout))
	defer cancel()
	if err := redisnode.AwaitLink(ctx, asNodes(rest), true); err != nil {
		return err
	}
	if err := s.startAll(ctx, watching, port); err != nil {
		return err
	}
	return redisnode.AwaitSentinels(ctx, &cluster.Cluster{Shape: s.spec.Shape, Nodes: s.nodes()})
}

// add lists count nodes that aren't started yet. Nodes are listed before they
// start, so that whatever gets started is closed.
func (s *servers) add(role cluster.Role, pattern string, count int) []*node {
	first := len(s.all)
	for i := range count {
		name := pattern
		if count > 1 {
			name = fmt.Sprintf(pattern, i+1)
		}
		s.all = append(s.all, &node{
			name: name, role: role, bin: s.bin,
			dir:     filepath.Join(s.folder.Path, name),
			log:     filepath.Join(s.folder.Path, name+".log"),
			keptLog: s.keptLog(name),
			release: func() {},
		})
	}
	return s.all[first:]
}

// startAll starts nodes at once, to replicate from or watch over the master's
// port, if it isn't 0.
func (s *servers) startAll(ctx context.Context, nodes []*node, master int) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, n := range nodes {
		g.Go(func() error { return n.start(ctx, master) })
	}
	return g.Wait()
}

// keptLog is where a node's log goes in the end, "" for nowhere.
func (s *servers) keptLog(name string) string {
	if s.spec.LogDir == "" {
		return ""
	}
	return filepath.Join(s.spec.LogDir, name+".log")
}

// close kills every server, keeps the logs and removes the folder. It does so
// even when ctx has ended; closing again returns the same.
func (s *servers) close(ctx context.Context) error {
	s.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		errs := make([]error, len(s.all))
		var wg sync.WaitGroup
		for i, n := range s.all {
			wg.Go(func() { errs[i] = n.close(ctx) })
		}
		wg.Wait()
		errs = append(errs, s.keepLogs(), s.folder.Remove())
		s.closeErr = errors.Join(errs...)
	})
	return s.closeErr
}

func (s *servers) keepLogs() error {
	if s.spec.LogDir == "" {
		return nil
	}
	if err := os.MkdirAll(s.spec.LogDir, 0o755); err != nil {
		return fmt.Errorf("keep the servers' logs: %w", err)
	}
	var errs []error
	for _, n := range s.all {
		text, err := os.ReadFile(n.log)
		if errors.Is(err, os.ErrNotExist) {
			continue // it never got so far
		}
		if err == nil {
			err = os.WriteFile(n.keptLog, text, 0o644)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("keep the log of %s: %w", n.name, err))
		}
	}
	return errors.Join(errs...)
}

func asNodes(ns []*node) []cluster.Node {
	list := make([]cluster.Node, len(ns))
	for i, n := range ns {
		list[i] = n
	}
	return list
}
