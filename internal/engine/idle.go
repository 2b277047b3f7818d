package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/history"
)

// idle keeps servers that a run has left as it found them, for the next run
// that wants such ones. Safe for concurrent use.
type idle struct {
	mu   sync.Mutex
	list []idleCluster
}

type idleCluster struct {
	version string
	cluster *cluster.Cluster
}

// take returns servers of that version and shape, or nil.
func (i *idle) take(version string, s cluster.Shape) *cluster.Cluster {
	i.mu.Lock()
	defer i.mu.Unlock()
	at := slices.IndexFunc(i.list, func(c idleCluster) bool { return c.version == version && c.cluster.Shape == s })
	if at < 0 {
		return nil
	}
	c := i.list[at].cluster
	i.list = slices.Delete(i.list, at, at+1)
	return c
}

func (i *idle) put(version string, c *cluster.Cluster) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.list = append(i.list, idleCluster{version, c})
}

// close removes the servers.
func (i *idle) close(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	errs := make([]error, len(i.list))
	var all sync.WaitGroup
	for n, c := range i.list {
		all.Go(func() { errs[n] = c.cluster.Close(ctx) })
	}
	all.Wait()
	i.list = nil
	return errors.Join(errs...)
}

// sparing reports whether the run's servers can be used again, if all goes
// well: they are ours, and nothing is done to them that can't be undone.
func (r *run) sparing() bool {
	return r.e.cfg.Reuse && r.e.cfg.Backend.Real() && (r.job.Scenario.Shape == cluster.Sentinel ||
		!slices.ContainsFunc(r.job.Scenario.Steps, func(st faults.Step) bool { return !faults.Spares(st.Do) }))
}

// logLines is how much of a server's log is kept with a run when the server
// goes on.
const logLines = 1000

// handOver makes the servers of a finished run as new and keeps them for the
// next one. It returns false when they have to be removed instead.
func (r *run) handOver(ctx context.Context) bool {
	if !r.judged || !r.sparing() || r.lock == nil || r.lock.Foreign || !r.healthy() {
		return false
	}
	for _, n := range r.lock.Nodes {
		if r.keepLog(ctx, n) != nil {
			return false
		}
	}
	renew := allAsNew
	if r.lock.Shape == cluster.Sentinel {
		renew = rolesAsNew
	}
	if renew(ctx, r.lock) != nil {
		return false
	}
	r.e.idle.put(r.e.version(r.job), r.lock)
	return true
}

// healthy reports whether every server answered after the load.
func (r *run) healthy() bool {
	asked := false
	for _, e := range r.rec.Events() {
		if e.Kind == history.ServerHealth && e.Phase == "after" {
			if asked = true; !e.Done {
				return false
			}
		}
	}
	return asked
}

func (r *run) keepLog(ctx context.Context, n cluster.Node) error {
	lines, err := n.Logs(ctx, logLines)
	if err != nil {
		return err
	}
	dir := filepath.Join(r.dir, "servers")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, n.Name()+".log"), []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}

// allAsNew removes what a run has left on its masters: first those who could
// still leave something, then the rest.
func allAsNew(ctx context.Context, c *cluster.Cluster) error {
	for _, n := range c.Nodes {
		err := tell(ctx, n,
			[]any{"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"}, []any{"CLIENT", "KILL", "TYPE", "pubsub", "SKIPME", "yes"},
			[]any{"CONFIG", "SET", "maxmemory", "0"}, []any{"CONFIG", "SET", "maxmemory-policy", "noeviction"},
			[]any{"FLUSHALL"}, []any{"SCRIPT", "FLUSH"}, []any{"SLOWLOG", "RESET"}, []any{"CONFIG", "RESETSTAT"})
		if err != nil {
			return err
		}
	}
	return nil
}

// rolesAsNew makes the first node the master again, and removes what a run has
// left there; its replicas follow. Connections stay: sentinels have some.
func rolesAsNew(ctx context.Context, c *cluster.Cluster) error {
	if c.OnRenew == nil {
		return errors.New("nobody can give these servers their roles back")
	}
	if err := c.OnRenew(ctx); err != nil {
		return err
	}
	for i, n := range c.Nodes {
		left := [][]any{{"SCRIPT", "FLUSH"}, {"SLOWLOG", "RESET"}, {"CONFIG", "RESETSTAT"}}
		if i == 0 {
			left = append([][]any{{"FLUSHALL"}}, left...)
		}
		if n.Role() == cluster.RoleSentinel {
			continue
		}
		if err := tell(ctx, n, left...); err != nil {
			return err
		}
	}
	return nil
}

// tell sends commands one after the other.
func tell(ctx context.Context, n cluster.Node, commands ...[]any) error {
	return redisnode.With(ctx, n, func(ctx context.Context, c *redis.Client) error {
		for _, args := range commands {
			if err := c.Do(ctx, args...).Err(); err != nil {
				return fmt.Errorf("%v: %w", args, err)
			}
		}
		return nil
	})
}
