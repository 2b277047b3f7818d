// Package remote plays on servers that are there already: a test deployment of
// the user's own. It starts and stops nothing, refuses servers that hold other
// people's keys, gives each cluster a key prefix of its own, and removes only
// the keys below that.
package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
	"github.com/oversell/oversell/internal/hint"
)

// Name is the backend's name.
const Name = "remote"

// fewestMasters is what a majority needs to be worth the name.
const fewestMasters = 3

// Options say where the servers are, and what may be done there.
type Options struct {
	Redis         string   // URL of the server of the single shape, as redis.ParseURL reads it; "" for none
	Sentinels     []string // URLs of the sentinels, as redis.ParseFailoverURL reads them
	Quorum        []string // URLs of the masters of the quorum shape
	AllowNonempty bool     // servers may hold keys that aren't oversell's

	// The passwords of servers and sentinels whose URL has none.
	Password, SentinelPassword string
}

// Backend uses the servers that its options name. Safe for concurrent use.
type Backend struct {
	single    []*endpoint
	sentinels []*endpoint
	behind    *endpoint // what sentinels' servers have in common; without an address
	quorum    []*endpoint
	nonempty  bool
}

var (
	_ cluster.Backend  = (*Backend)(nil)
	_ cluster.Outliner = (*Backend)(nil)
)

// New reads the options. Its errors carry a hint and never repeat a URL, which
// may have a password in it. It connects to nothing.
func New(o Options) (*Backend, error) {
	b := &Backend{nonempty: o.AllowNonempty}
	if o.Redis == "" && len(o.Sentinels) == 0 && len(o.Quorum) == 0 {
		return nil, hint.Wrap(errors.New("the remote backend needs to know its servers"),
			"give --redis-url, --sentinel-url or --quorum-url, for example --redis-url redis://user@host:6379/0")
	}
	if o.Redis != "" {
		e, err := parse("--redis-url", o.Redis, o.Password)
		if err != nil {
			return nil, err
		}
		e.name = "redis"
		b.single = []*endpoint{e}
	}
	if err := b.readSentinels(o); err != nil {
		return nil, err
	}
	for i, url := range o.Quorum {
		e, err := parse("--quorum-url", url, o.Password)
		if err != nil {
			return nil, err
		}
		e.name = fmt.Sprintf("master-%d", i+1)
		if slices.ContainsFunc(b.quorum, func(other *endpoint) bool { return other.addr == e.addr }) {
			return nil, hint.Wrap(fmt.Errorf("--quorum-url names %s twice", e.addr), "a quorum needs servers that are independent of each other")
		}
		b.quorum = append(b.quorum, e)
	}
	if n := len(b.quorum); n > 0 && n < fewestMasters {
		return nil, hint.Wrap(fmt.Errorf("--quorum-url names %d servers", n), "a quorum needs %d at least, and 5 as a rule", fewestMasters)
	}
	return b, nil
}

// Name implements cluster.Backend.
func (b *Backend) Name() string { return Name }

// Real implements cluster.Backend.
func (b *Backend) Real() bool { return true }

// Supports implements cluster.Backend.
func (b *Backend) Supports(s cluster.Shape) error {
	for _, known := range []struct {
		shape cluster.Shape
		flag  string
		have  int
	}{
		{cluster.Single, "--redis-url", len(b.single)},
		{cluster.Sentinel, "--sentinel-url", len(b.sentinels)},
		{cluster.Quorum, "--quorum-url", len(b.quorum)},
	} {
		if known.shape != s {
			continue
		}
		if known.have == 0 {
			return fmt.Errorf("the %s backend has no servers of shape %s: that needs %s", Name, s, known.flag)
		}
		return nil
	}
	return fmt.Errorf("the %s backend has no shape %q", Name, s)
}

// shapes are those that there are servers for.
func (b *Backend) shapes() []cluster.Shape {
	var list []cluster.Shape
	for _, s := range []cluster.Shape{cluster.Single, cluster.Sentinel, cluster.Quorum} {
		if b.Supports(s) == nil {
			list = append(list, s)
		}
	}
	return list
}

// Outline implements cluster.Outliner: nodes that can be talked to, and nothing
// more.
func (b *Backend) Outline(s cluster.Shape) *cluster.Cluster {
	c := &cluster.Cluster{Backend: Name, Shape: s, Foreign: true}
	list := b.single
	switch s {
	case cluster.Sentinel:
		list = append([]*endpoint{b.behind.at("master", cluster.RoleMaster, "")}, b.sentinels...)
	case cluster.Quorum:
		list = b.quorum
	}
	for _, e := range list {
		c.Nodes = append(c.Nodes, &node{endpoint: e})
	}
	return c
}

// Probe implements cluster.Backend: it asks every server that it was told of.
func (b *Backend) Probe(ctx context.Context, version string) (string, error) {
	var found []string
	for _, s := range b.shapes() {
		nodes, err := b.find(ctx, s, version)
		if err != nil {
			return "", err
		}
		found = append(found, describe(s, nodes))
	}
	return strings.Join(found, "; "), nil
}

// describe says what was found, in a few words without secrets.
func describe(s cluster.Shape, nodes []*node) string {
	first := nodes[0]
	switch s {
	case cluster.Sentinel:
		return fmt.Sprintf("%s at %s, as %d sentinels name it", first.Version(), first.Announced(), count(nodes, cluster.RoleSentinel))
	case cluster.Quorum:
		return fmt.Sprintf("%d masters, %s at %s and others", len(nodes), first.Version(), first.Announced())
	}
	return fmt.Sprintf("%s at %s", first.Version(), first.Announced())
}

func count(nodes []*node, r cluster.Role) int {
	total := 0
	for _, n := range nodes {
		if n.role == r {
			total++
		}
	}
	return total
}

// findTimeout bounds the look at one shape's servers.
const findTimeout = 8 * time.Second

// find returns the nodes of a shape, master first, after making sure that they
// are what they should be and that they can be used.
func (b *Backend) find(ctx context.Context, s cluster.Shape, version string) ([]*node, error) {
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	nodes, err := b.look(ctx, s, version)
	if over := ended(ctx); err != nil && over != nil && !errors.Is(err, over) {
		err = fmt.Errorf("%w: %w", over, err) // connections tell it in words of their own
	}
	return nodes, explain(err)
}

// ended says why ctx has ended. Connections notice its deadline a moment
// before ctx itself does.
func ended(ctx context.Context) error {
	if at, ok := ctx.Deadline(); ok && ctx.Err() == nil && !time.Now().Before(at) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

func (b *Backend) look(ctx context.Context, s cluster.Shape, version string) (nodes []*node, err error) {
	switch s {
	case cluster.Sentinel:
		nodes, err = b.discover(ctx)
	case cluster.Quorum:
		nodes = asNodes(b.quorum)
	default:
		nodes = asNodes(b.single)
	}
	if err != nil {
		return nil, err
	}
	g, gctx := errgroup.WithContext(ctx)
	for _, n := range nodes {
		g.Go(func() error { return n.examine(gctx, version, b.nonempty) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if s == cluster.Quorum {
		err = independent(nodes)
	}
	return nodes, err
}

func asNodes(list []*endpoint) []*node {
	nodes := make([]*node, len(list))
	for i, e := range list {
		nodes[i] = &node{endpoint: e}
	}
	return nodes
}

// independent refuses a quorum in which one server counts twice.
func independent(nodes []*node) error {
	seen := map[string]*node{}
	for _, n := range nodes {
		if other := seen[n.runID]; n.runID != "" && other != nil {
			return hint.Wrap(fmt.Errorf("%s and %s are the same server", other.Announced(), n.Announced()),
				"a quorum needs servers that are independent of each other")
		}
		seen[n.runID] = n
	}
	return nil
}

// Start implements cluster.Backend. The cluster's Close removes the keys below
// its prefix.
func (b *Backend) Start(ctx context.Context, s cluster.Spec) (*cluster.Cluster, error) {
	if err := b.Supports(s.Shape); err != nil {
		return nil, err
	}
	nodes, err := b.find(ctx, s.Shape, s.Version)
	if err != nil {
		return nil, err
	}
	c := &cluster.Cluster{
		Backend: Name, Shape: s.Shape, Server: nodes[0].Version(), Foreign: true,
		KeyPrefix: ownKeys + s.Run + ":" + s.Name + ":", MasterSet: nodes[0].set,
	}
	for _, n := range nodes {
		c.Nodes = append(c.Nodes, n)
	}
	c.OnClose = func(ctx context.Context) error { return removeKeys(ctx, c) }
	return c, nil
}

// masters are the servers of a cluster that hold its keys now.
func masters(ctx context.Context, c *cluster.Cluster) ([]cluster.Node, error) {
	if c.Shape != cluster.Sentinel {
		return c.Nodes, nil
	}
	n, err := redisnode.CurrentMaster(ctx, c)
	if err != nil {
		return nil, err
	}
	return []cluster.Node{n}, nil
}
