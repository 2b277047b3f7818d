package diagnose

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Server is what the server says of itself. Numbers that it doesn't tell are
// left out of the JSON document.
type Server struct {
	Version     string    `json:"version,omitempty"`
	Mode        string    `json:"mode,omitempty"`
	Role        string    `json:"role,omitempty"`
	UptimeS     *int64    `json:"uptime_s,omitempty"`
	CommandsPS  *int64    `json:"commands_per_s,omitempty"`
	Keys        *int64    `json:"keys,omitempty"` // of the database asked
	PingMS      []float64 `json:"ping_ms"`        // round trips
	Memory      Memory    `json:"memory"`
	Persistence string    `json:"persistence,omitempty"` // in words
	Replicas    []string  `json:"replicas"`              // as INFO tells them
	MinReplicas string    `json:"min_replicas_to_write,omitempty"`
}

// Memory is what the server says of its memory, in bytes.
type Memory struct {
	Used    *int64 `json:"used,omitempty"`
	Max     *int64 `json:"max,omitempty"` // 0: no limit
	Policy  string `json:"policy,omitempty"`
	Evicted *int64 `json:"evicted_keys,omitempty"` // since the start
}

// number is a field of INFO, nil when the server doesn't tell it.
func (x *exam) number(field string) *int64 {
	if v, ok := x.info.Int(field); ok {
		return &v
	}
	return nil
}

const pings = 5

// slowPing is a round trip that costs locks time worth speaking of.
const slowPing = 100 * time.Millisecond

func (x *exam) lookAtServer() {
	s := &x.r.Server
	s.Version, s.Mode, s.Role = x.info.Version(), x.info["redis_mode"], x.info["role"]
	s.UptimeS, s.CommandsPS = x.number("uptime_in_seconds"), x.number("instantaneous_ops_per_sec")
	s.PingMS, s.Replicas = []float64{}, []string{}
	if n, err := x.c.DBSize(x.ctx).Result(); x.answered("DBSIZE", false, err) {
		s.Keys = &n
	}
	longest := time.Duration(0)
	for range pings {
		sent := time.Now()
		if !x.answered("PING", false, x.c.Ping(x.ctx).Err()) {
			break
		}
		took := time.Since(sent)
		longest = max(longest, took)
		s.PingMS = append(s.PingMS, float64(took.Microseconds())/1000)
	}
	if longest >= slowPing {
		x.risk("server", "acquire, renew and release each take a round trip: see the network, and whether commands of others block the server",
			"a PING took %s", longest.Round(time.Millisecond))
	}
	if s.Mode == "cluster" {
		x.risk("server", "ask each master, or the one that has the lock's slot", "this is one node of a Redis Cluster: only its keys were looked at")
	}
	if len(x.info) == 0 {
		return // that is noted
	}
	x.lookAtMemory()
	x.lookAtPersistence()
	x.lookAtReplication()
}

// nearlyFull is the share of maxmemory from which on it is time to act.
const nearlyFull = 0.9

func (x *exam) lookAtMemory() {
	m := &x.r.Server.Memory
	m.Used, m.Max, m.Policy, m.Evicted = x.number("used_memory"), x.number("maxmemory"), x.info["maxmemory_policy"], x.number("evicted_keys")
	if m.Used == nil || m.Max == nil || m.Policy == "" {
		x.unasked("INFO memory", "the server tells no used_memory, maxmemory or maxmemory_policy", true)
		return
	}
	const fence = "give locks a server of their own with maxmemory-policy noeviction"
	switch {
	case *m.Max == 0:
	case m.Policy != "noeviction":
		done := "so far it evicted nothing"
		if m.Evicted != nil && *m.Evicted > 0 {
			done = fmt.Sprintf("it has evicted %d keys since its start", *m.Evicted)
		}
		which := "any key"
		if strings.HasPrefix(m.Policy, "volatile-") {
			which = "keys with a TTL before all others, and those are the locks"
		}
		x.problem("memory", fence, "when it is full (%s of %s are used) the policy %s evicts %s; %s",
			bytes(*m.Used), bytes(*m.Max), m.Policy, which, done)
	case float64(*m.Used) >= nearlyFull*float64(*m.Max):
		x.problem("memory", "raise maxmemory, or remove what isn't needed: a full server refuses to set a lock, and to renew one by SET",
			"%s of %s are used, and the policy is noeviction", bytes(*m.Used), bytes(*m.Max))
	}
}

// afterRestart is what helps against a server that forgets locks.
const afterRestart = "after a restart wait for the longest TTL before it takes locks again, or refuse stale writers with a fence at the store of record"

func (x *exam) lookAtPersistence() {
	save, told := x.config["save"]
	switch {
	case x.info["aof_enabled"] == "1":
		sync := x.config["appendfsync"]
		x.r.Server.Persistence = strings.TrimSpace("append-only file " + sync)
		if sync != "always" && sync != "" {
			x.risk("persistence", afterRestart, "the append-only file is synced %s: a crash of the machine forgets the locks of the last moment", sync)
		}
	case x.info["aof_enabled"] == "" && !told:
		x.unasked("INFO persistence", "the server doesn't tell whether it keeps an append-only file", false)
	case told && save == "":
		x.r.Server.Persistence = "none"
		x.risk("persistence", afterRestart, "nothing is kept on disk: a restart forgets every lock")
	default:
		x.r.Server.Persistence = strings.TrimSpace("snapshots " + save)
		x.risk("persistence", afterRestart, "only snapshots are kept: a restart forgets the locks since the last one")
	}
	if x.info["aof_last_write_status"] == "err" {
		x.problem("persistence", "see the server's log and its disk", "the last write to the append-only file failed: writes are refused")
	}
	if x.info["rdb_last_bgsave_status"] == "err" && x.config["stop-writes-on-bgsave-error"] != "no" {
		x.problem("persistence", "see the server's log and its disk, or set stop-writes-on-bgsave-error to no", "the last snapshot failed: writes are refused")
	}
	if x.info["loading"] == "1" {
		x.problem("persistence", "wait until it has read its data", "the server is still loading its data: no lock can be taken")
	}
}

// behind is a replica's silence, in seconds, that is worth speaking of.
const behind = 2

func (x *exam) lookAtReplication() {
	s := &x.r.Server
	s.MinReplicas = x.config["min-replicas-to-write"]
	if s.Role == "slave" {
		x.risk("replication", "look at the master: locks are taken there", "this is a replica, of %s:%s", x.info["master_host"], x.info["master_port"])
		if status := x.info["master_link_status"]; status != "up" {
			x.problem("replication", "see whether the master lives, and the network between them", "the link to its master is %s", status)
		}
		return
	}
	for i := 0; ; i++ {
		line, ok := x.info["slave"+strconv.Itoa(i)]
		if !ok {
			break
		}
		s.Replicas = append(s.Replicas, line)
		lag := field(line, "lag", ",")
		if n, err := strconv.Atoi(lag); err == nil && n > behind {
			x.risk("replication", "see the replica and the network: what it hasn't heard of is lost in a failover",
				"the replica %s:%s was last heard of %d s ago", field(line, "ip", ","), field(line, "port", ","), n)
		}
	}
	switch {
	case s.Role != "master":
	case len(s.Replicas) == 0:
		x.risk("replication", "while it is down nobody can take a lock; replicas and sentinels shorten that", "it has no replica")
	default:
		x.risk("replication", "WAIT doesn't cure that: refuse stale writers with a fence at the store of record",
			"replication is asynchronous (%d replicas, min-replicas-to-write %s): a failover forgets locks that no replica has yet",
			len(s.Replicas), orUnknown(s.MinReplicas))
	}
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// field is the value of name in "a=1,b=2", "" when it isn't there.
func field(line, name, separator string) string {
	for part := range strings.SplitSeq(line, separator) {
		if k, v, _ := strings.Cut(part, "="); k == name {
			return v
		}
	}
	return ""
}

// bytes is a size in words.
func bytes(n int64) string {
	const k = 1024
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	f, u := float64(n), 0
	for f >= k && u < len(units)-1 {
		f, u = f/k, u+1
	}
	if u == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", f, units[u])
}
