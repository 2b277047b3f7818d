package docker

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"

	"github.com/oversell/oversell/cluster"
)

const (
	redisPort    = 6379
	sentinelPort = 26379
	// dataDir is where servers may write. It is emptied when a container stops,
	// as the disk of a server without persistence is.
	dataDir = "/oversell-data"
	// sentinelConfig is the file that a sentinel reads and writes again.
	sentinelConfig = "/oversell-sentinel.conf"
)

// create makes the node's container and puts it into its networks. The
// container may exist after an error.
func (n *node) create(ctx context.Context) error {
	return mutate(ctx, func(ctx context.Context) error {
		c, err := n.launch.engine.provider.CreateContainer(ctx, n.request())
		if c != nil {
			n.id = c.GetContainerID()
		}
		if err != nil {
			return err
		}
		if !n.replicates() {
			return nil
		}
		return n.joinReplication(ctx)
	})
}

// replicates reports whether the node belongs into the replication network.
func (n *node) replicates() bool {
	return n.launch.spec.Shape == cluster.Sentinel && n.role != cluster.RoleSentinel
}

func (n *node) joinReplication(ctx context.Context) error {
	s := n.launch.replication
	_, err := n.launch.engine.api.NetworkConnect(ctx, s.name, client.NetworkConnectOptions{
		Container: n.id, EndpointConfig: s.endpoint(n.index),
	})
	if err != nil {
		return fmt.Errorf("connect to network %s: %w", s.name, err)
	}
	return nil
}

func (n *node) request() testcontainers.ContainerRequest {
	l := n.launch
	b, _ := buildOf(l.spec.Version) // known: the image was found by it
	port := network.MustParsePort(strconv.Itoa(n.port) + "/tcp")
	r := testcontainers.ContainerRequest{
		Image:        requestName(l.image),
		Name:         l.name(n.name),
		Labels:       l.labels(n.name),
		Entrypoint:   []string{b.server}, // the official images' own entry point would change users first
		ExposedPorts: []string{port.String()},
		Networks:     []string{l.clients.name},
		EndpointSettingsModifier: func(m map[string]*network.EndpointSettings) {
			m[l.clients.name] = l.clients.endpoint(n.index)
		},
		HostConfigModifier: func(h *container.HostConfig) {
			h.PortBindings = network.PortMap{port: {{HostIP: netip.MustParseAddr(loopback), HostPort: ""}}}
		},
	}
	if n.role == cluster.RoleSentinel {
		r.Cmd = []string{sentinelConfig, "--sentinel"}
		r.Files = []testcontainers.ContainerFile{{
			Reader: strings.NewReader(n.sentinelConfig()), ContainerFilePath: sentinelConfig, FileMode: 0o644,
		}}
	} else {
		r.Cmd = n.serverCommand()
		r.Tmpfs = map[string]string{dataDir: "rw"}
	}
	r.Cmd = append(r.Cmd, l.args...)
	return r
}

// serverCommand is the command line of a master or replica: in memory only,
// reachable from its networks without a password, and quick to hand its data to
// a replica.
func (n *node) serverCommand() []string {
	cmd := []string{
		"--port", strconv.Itoa(n.port),
		"--protected-mode", "no",
		"--dir", dataDir,
		"--save", "",
		"--appendonly", "no",
		"--repl-diskless-sync", "yes",
		"--repl-diskless-sync-delay", "0",
	}
	if n.launch.spec.Shape != cluster.Sentinel {
		return cmd
	}
	// Sentinels learn of replicas from the master, and must hear of an address
	// that they can reach themselves.
	return append(cmd, "--replica-announce-ip", n.ip())
}
