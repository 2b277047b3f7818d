// Package cluster says what a set of servers can be asked to do. The backends
// below it start them: in containers, as processes, or in this process.
package cluster

import (
	"context"
	"net"
)

// Shape is how servers are arranged.
type Shape string

// The shapes that exist.
const (
	Single   Shape = "single"   // one server
	Sentinel Shape = "sentinel" // a master, two replicas, three sentinels
	Quorum   Shape = "quorum"   // five independent masters
)

// Capability is something that not every server can do.
type Capability string

// What a lock kind may need of its servers.
const (
	TairEXSET Capability = "EXSET"      // values with a version, of Tair's TairString module
	TairCAS   Capability = "CAS"        // CAS and CAD on strings, of the same module
	NativeCAS Capability = "CAS-NATIVE" // SET IFEQ, and DELEX (Redis 8.4) or DELIFEQ (Valkey 9)
	Tracking  Capability = "TRACKING"   // it tells clients when keys change that they have read
)

// Role is the role in which a node was started.
type Role string

// The roles of nodes.
const (
	RoleMaster   Role = "master"
	RoleReplica  Role = "replica"
	RoleSentinel Role = "sentinel"
)

// MasterSet is the name under which sentinels know the master, where the
// cluster doesn't say otherwise.
const MasterSet = "oversell"

// Node is one server. Its name is unique within its cluster: "redis" in a
// single shape; "master", "replica-1", "replica-2", "sentinel-1", ... in the
// sentinel shape. Safe for concurrent use. What only some nodes can do is in
// the optional interfaces below.
type Node interface {
	Name() string
	Role() Role
	// Announced is the host:port under which its peers know the node, and which
	// sentinels answer with. It isn't always reachable from here.
	Announced() string
	// Addr is the host:port to dial from here; it may change when the node
	// restarts. "" when the node lives in this process.
	Addr() string
	// Dial connects to the node as it is now.
	Dial(ctx context.Context) (net.Conn, error)
	// Version is what the server says of itself, e.g. "Redis 7.0.15" or "Valkey 9.1.2".
	Version() string
	// Logs returns up to n of the last lines that the server printed, oldest first.
	Logs(ctx context.Context, n int) ([]string, error)
}

// Killer is a node that can die at once, as by SIGKILL, and come back.
type Killer interface {
	// Kill returns once the server is gone; how says how that was seen
	// (e.g. "exited, signal 9").
	Kill(ctx context.Context) (how string, err error)
	// Restart starts it again with the data that it had on disk, and returns
	// once it answers PING. Its announced address stays the same.
	Restart(ctx context.Context) error
}

// Pauser is a node that can be frozen, as by SIGSTOP.
type Pauser interface {
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
}

// Isolator is a master that can be cut off from its replicas while clients and
// sentinels stay connected.
type Isolator interface {
	// CutPeers returns once replication to every replica is down; how says how
	// that was seen.
	CutPeers(ctx context.Context) (how string, err error)
	HealPeers(ctx context.Context) error
}

// Cluster is a set of started servers. Close it even when starting it failed.
type Cluster struct {
	Backend   string // "docker", "process", "embedded"
	Shape     Shape
	Server    string // version of the servers, e.g. "Redis 7.0.15"
	Simulated bool   // not real servers: its results can't satisfy a gate
	Nodes     []Node

	// Foreign servers aren't ours: they may hold other people's keys, and
	// nothing may be done to them as a whole (FLUSHALL, CONFIG SET, a failover).
	Foreign bool
	// KeyPrefix begins every key of the run. "" where the servers are all ours.
	KeyPrefix string
	// MasterSet is the name under which these sentinels know the master; ""
	// means the constant of that name.
	MasterSet string

	// OnRenew gives servers that are all well the roles that they had started
	// with, whatever failovers have made of them, and returns once everybody knows.
	// Nil where they keep their roles, or where that can't be done.
	OnRenew func(ctx context.Context) error

	// OnClose removes everything that was started, also after a failed or
	// half-finished start. Nil when there is nothing to remove.
	OnClose func(ctx context.Context) error
}

// Close removes everything that was started for the cluster. A nil cluster has
// nothing to remove.
func (c *Cluster) Close(ctx context.Context) error {
	if c == nil || c.OnClose == nil {
		return nil
	}
	return c.OnClose(ctx)
}

// Node returns the node of that name, or nil.
func (c *Cluster) Node(name string) Node {
	for _, n := range c.Nodes {
		if n.Name() == name {
			return n
		}
	}
	return nil
}

// Spec is what to start.
type Spec struct {
	Run     string // id of the invocation: labels, names, temporary folders
	Name    string // which cluster of the run, e.g. "lock-1" or "inventory"; unique within it
	Shape   Shape
	Version string // "7.0" (the default when empty), "6.0", "8.0", "8.6", "valkey-8.1", "valkey-9.1"
	LogDir  string // where to leave each server's log as NAME.log when the cluster closes; "" for nowhere
}

// Backend starts clusters. Safe for concurrent use.
type Backend interface {
	Name() string
	// Probe says in a few words what would be used ("Docker 20.10.24, image
	// oversell/redis:7.0"), or, as an error with a hint, why it can't be.
	Probe(ctx context.Context, version string) (string, error)
	// Supports returns nil when the shape can be started, else why not.
	Supports(s Shape) error
	// Start returns once every server answers and, in the sentinel shape, the
	// sentinels know each other and both replicas are in sync. With an error the
	// cluster may be non-nil: the caller closes it.
	Start(ctx context.Context, s Spec) (*Cluster, error)
	// Real reports whether instances run as OS processes against real servers;
	// otherwise they are goroutines of this process.
	Real() bool
}

// Outliner is a backend that can tell, without starting or asking anything,
// what the nodes of a shape will be able to do.
type Outliner interface {
	Outline(s Shape) *Cluster
}

// Set is an optional ability of sentinels: the name under which they know the
// master, where that isn't MasterSet.
type Set interface{ MasterSet() string }

// MasterSetOf is the name under which a sentinel knows the master.
func MasterSetOf(sentinel Node) string {
	if s, ok := sentinel.(Set); ok && s.MasterSet() != "" {
		return s.MasterSet()
	}
	return MasterSet
}

// Versions lists the values of --redis, the default first.
func Versions() []string {
	return []string{"7.0", "6.0", "8.0", "8.6", "valkey-8.1", "valkey-9.1"}
}

// Leftover is the error of something that is in nobody's way, and that the
// backend can't remove now. Whatever else was to be done is done.
type Leftover struct{ Err error }

func (l *Leftover) Error() string { return l.Err.Error() }

// Unwrap returns the reason.
func (l *Leftover) Unwrap() error { return l.Err }
