package redisnode

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/oversell/oversell/cluster"
)

// Watched is what a sentinel knows of the master set.
type Watched struct {
	Master    string   // announced host:port
	Flags     string   // "master" when all is well, else e.g. "master,s_down"
	Replicas  int      // that it knows
	Synced    int      // of these, replicas whose link to the master is up and which it can reach
	Sentinels int      // other sentinels that it knows
	Usable    bool     // it says that quorum and majority can be reached
	Problems  []string // what keeps it from being ready, in words
}

// AskSentinel asks one sentinel what it knows.
func AskSentinel(ctx context.Context, sentinel cluster.Node) (Watched, error) {
	var w Watched
	set := cluster.MasterSetOf(sentinel)
	err := With(ctx, sentinel, func(ctx context.Context, c *redis.Client) error {
		m, err := c.Do(ctx, "SENTINEL", "MASTER", set).Slice()
		if err != nil {
			return err
		}
		fields := pairs(m)
		w.Master = net.JoinHostPort(fields["ip"], fields["port"])
		w.Flags = fields["flags"]
		if w.Flags != master {
			w.Problems = append(w.Problems, "the master is "+w.Flags)
		}
		sentinels, _ := Info(fields).Int("num-other-sentinels")
		w.Sentinels = int(sentinels)
		if err := w.askReplicas(ctx, c, set); err != nil {
			return err
		}
		// CKQUORUM answers with an error when the quorum can't be reached.
		_, err = c.Do(ctx, "SENTINEL", "CKQUORUM", set).Result()
		w.Usable = err == nil
		if err != nil {
			if !Refused(err) {
				return err
			}
			w.Problems = append(w.Problems, err.Error())
		}
		return nil
	})
	if err != nil {
		return Watched{}, fmt.Errorf("ask %s: %w", sentinel.Name(), err)
	}
	return w, nil
}

func (w *Watched) askReplicas(ctx context.Context, c *redis.Client, set string) error {
	list, err := c.Do(ctx, "SENTINEL", "REPLICAS", set).Slice()
	if err != nil {
		return err
	}
	w.Replicas = len(list)
	for _, r := range list {
		flat, ok := r.([]any)
		if !ok {
			return fmt.Errorf("unexpected reply to SENTINEL REPLICAS: %v", r)
		}
		fields := pairs(flat)
		if fields["flags"] == replica && fields["master-link-status"] == "ok" {
			w.Synced++
			continue
		}
		w.Problems = append(w.Problems, fmt.Sprintf("replica %s is %s with link %q",
			fields["name"], fields["flags"], fields["master-link-status"]))
	}
	return nil
}

// pairs joins a flat list of names and values, as sentinels answer in RESP2.
func pairs(flat []any) map[string]string {
	m := make(map[string]string, len(flat)/2)
	for i := 0; i+1 < len(flat); i += 2 {
		m[fmt.Sprint(flat[i])] = fmt.Sprint(flat[i+1])
	}
	return m
}

// AwaitSentinels returns once every sentinel of c sees a healthy master, knows
// all other sentinels, can reach a quorum, and sees every replica in sync:
// from then on a failover works.
func AwaitSentinels(ctx context.Context, c *cluster.Cluster) error {
	sentinels := ofRole(c, cluster.RoleSentinel)
	replicas := len(ofRole(c, cluster.RoleReplica))
	for _, s := range sentinels {
		err := Until(ctx, func(ctx context.Context) error {
			w, err := AskSentinel(ctx, s)
			if err != nil {
				return err
			}
			if w.Usable && w.Flags == master && w.Sentinels == len(sentinels)-1 &&
				w.Replicas == replicas && w.Synced == replicas {
				return nil
			}
			return fmt.Errorf("it knows %d other sentinels and %d replicas, %d in sync (%s)",
				w.Sentinels, w.Replicas, w.Synced, strings.Join(w.Problems, "; "))
		})
		if err != nil {
			return fmt.Errorf("wait until %s knows its peers: %w", s.Name(), err)
		}
	}
	return nil
}

// CurrentMaster returns the node that most of the answering sentinels name as
// master. Without sentinels it is the only master there is.
func CurrentMaster(ctx context.Context, c *cluster.Cluster) (cluster.Node, error) {
	if c.Shape != cluster.Sentinel {
		if ms := ofRole(c, cluster.RoleMaster); len(ms) == 1 {
			return ms[0], nil
		}
		return nil, fmt.Errorf("find the master: the %s shape has no sentinels to ask", c.Shape)
	}
	addr, _, err := namedMaster(ctx, c)
	if err != nil {
		return nil, err
	}
	return nodeAt(c, addr)
}

// namedMaster asks all sentinels at once, and returns the address that most of
// those that answered named, and how many did.
func namedMaster(ctx context.Context, c *cluster.Cluster) (addr string, votes int, err error) {
	sentinels := ofRole(c, cluster.RoleSentinel)
	addrs := make([]string, len(sentinels))
	errs := make([]error, len(sentinels))
	var wg sync.WaitGroup
	for i, s := range sentinels {
		wg.Go(func() { addrs[i], errs[i] = masterOf(ctx, s) })
	}
	wg.Wait()
	counts := map[string]int{}
	for i, a := range addrs {
		if errs[i] != nil {
			continue
		}
		if counts[a]++; counts[a] > votes {
			addr, votes = a, counts[a]
		}
	}
	if votes == 0 {
		return "", 0, fmt.Errorf("find the master: no sentinel answers: %w", errors.Join(errs...))
	}
	return addr, votes, nil
}

func masterOf(ctx context.Context, sentinel cluster.Node) (string, error) {
	reply, err := Do(ctx, sentinel, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", cluster.MasterSetOf(sentinel))
	if err != nil {
		return "", err
	}
	parts, ok := reply.([]any)
	if !ok || len(parts) != 2 {
		return "", fmt.Errorf("ask %s for the master: unexpected reply %v", sentinel.Name(), reply)
	}
	return net.JoinHostPort(fmt.Sprint(parts[0]), fmt.Sprint(parts[1])), nil
}

// AwaitPromotion returns the new master once a majority of all sentinels name
// the same node other than old, and that node itself says that it is a master.
func AwaitPromotion(ctx context.Context, c *cluster.Cluster, old cluster.Node) (cluster.Node, error) {
	majority := len(ofRole(c, cluster.RoleSentinel))/2 + 1
	var fresh cluster.Node
	err := Until(ctx, func(ctx context.Context) error {
		addr, votes, err := namedMaster(ctx, c)
		if err != nil {
			return err
		}
		if addr == old.Announced() {
			return fmt.Errorf("the sentinels name %s", old.Name())
		}
		if votes < majority {
			return fmt.Errorf("only %d sentinels name %s", votes, addr)
		}
		n, err := nodeAt(c, addr)
		if err != nil {
			return err
		}
		if err := hasRole(ctx, n, master); err != nil {
			return err
		}
		fresh = n
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("wait for a master other than %s: %w", old.Name(), err)
	}
	return fresh, nil
}

// AwaitDemotion returns once n says that it is a replica.
func AwaitDemotion(ctx context.Context, n cluster.Node) error {
	err := Until(ctx, func(ctx context.Context) error { return hasRole(ctx, n, replica) })
	if err != nil {
		return fmt.Errorf("wait until %s is a replica: %w", n.Name(), err)
	}
	return nil
}

func hasRole(ctx context.Context, n cluster.Node, want string) error {
	role, err := Role(ctx, n)
	if err != nil {
		return err
	}
	if role != want {
		return fmt.Errorf("%s says that it is a %s", n.Name(), role)
	}
	return nil
}

func nodeAt(c *cluster.Cluster, announced string) (cluster.Node, error) {
	for _, n := range c.Nodes {
		if n.Announced() == announced {
			return n, nil
		}
	}
	return nil, fmt.Errorf("the sentinels name %s, which is no node of this cluster", announced)
}

func ofRole(c *cluster.Cluster, r cluster.Role) []cluster.Node {
	var nodes []cluster.Node
	for _, n := range c.Nodes {
		if n.Role() == r {
			nodes = append(nodes, n)
		}
	}
	return nodes
}
