package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/inventory"
)

// postgresImages are the official images that can keep an inventory, best first.
var postgresImages = []string{"postgres:17", "postgres:16", "postgres:15"}

const postgresPort = 5432

// postgresScript makes a database in memory and becomes its server. It needs
// nothing of the image but PostgreSQL and a shell, and its own user.
const postgresScript = `set -eu
umask 077
cd ` + dataDir + `
printf '%s\n' "$OVERSELL_PASSWORD" >password
initdb --pgdata=db --username="$OVERSELL_USER" --pwfile=password --auth=scram-sha-256 --encoding=UTF8 --locale=C --no-sync
rm password
echo 'host all all all scram-sha-256' >>db/pg_hba.conf
unset OVERSELL_PASSWORD
exec postgres -D db -c listen_addresses='*' -c unix_socket_directories= -c max_connections=500 -c shared_buffers=32MB \
  -c dynamic_shared_memory_type=mmap -c fsync=off -c synchronous_commit=off -c full_page_writes=off \
  -c wal_level=minimal -c max_wal_senders=0 -c autovacuum=off -c jit=off`

// ProbePostgres says which engine and image would keep an inventory in
// PostgreSQL, as Probe does for the servers of locks.
func (b *Backend) ProbePostgres(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	e, err := b.connect(ctx)
	if err != nil {
		return "", err
	}
	defer e.idle()
	image, err := e.localPostgres(ctx)
	if err != nil {
		return "", err
	}
	if image != "" {
		return fmt.Sprintf("%s, image %s", e.product, image), nil
	}
	image = e.officialName(build{official: postgresImages[0]})
	if _, err := e.api.DistributionInspect(ctx, image, client.DistributionInspectOptions{EncodedRegistryAuth: auth(ctx, image)}); err != nil {
		return "", hint.Wrap(fmt.Errorf("no image of PostgreSQL (%s): %w", strings.Join(postgresImages, ", "), err),
			"docker pull %s, where a registry can be reached", image)
	}
	return fmt.Sprintf("%s, image %s (to be pulled)", e.product, image), nil
}

// localPostgres returns the image that the engine already has, or "".
func (e *engine) localPostgres(ctx context.Context) (string, error) {
	for _, official := range postgresImages {
		for _, name := range []string{e.officialName(build{official: official}), official} {
			_, err := e.api.ImageInspect(ctx, name)
			if err == nil {
				return name, nil
			}
			if !errdefs.IsNotFound(err) {
				return "", explain(fmt.Errorf("look for image %s: %w", name, err))
			}
		}
	}
	return "", nil
}

// StartPostgres starts a PostgreSQL that forgets everything when it ends, with
// a superuser of that name and password, and returns once something answers on
// its port. After an error nothing is left, unless removing it failed too.
func (b *Backend) StartPostgres(ctx context.Context, run, user, password string) (*inventory.Place, error) {
	e, err := b.connect(ctx)
	if err != nil {
		return nil, err
	}
	image, err := e.localPostgres(ctx)
	if err == nil && image == "" {
		image = e.officialName(build{official: postgresImages[0]})
		err = e.pull(ctx, image)
	}
	if err != nil {
		e.idle()
		return nil, explain(fmt.Errorf("provide an image: %w", err))
	}
	l := newLaunch(e, cluster.Spec{Run: run, Name: "inventory-postgres", Shape: cluster.Single}, image, nil)
	addr, err := l.runPostgres(ctx, user, password)
	if err != nil {
		return nil, errors.Join(explain(err), l.close(ctx))
	}
	dsn := url.URL{Scheme: "postgres", User: url.UserPassword(user, password), Host: addr, Path: "/postgres", RawQuery: "sslmode=disable"}
	return &inventory.Place{Driver: inventory.Postgres, DSN: dsn.String(), OnClose: l.close}, nil
}

// runPostgres starts the container and returns where it answers.
func (l *launch) runPostgres(ctx context.Context, user, password string) (addr string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not ready within %s", startTimeout))
	defer cancel()
	if err := l.createNetworks(ctx); err != nil {
		return "", err
	}
	n := newNode(l, 0, planned{"postgres", cluster.RoleMaster})
	n.port = postgresPort
	l.nodes = append(l.nodes, n)
	err = mutate(ctx, func(ctx context.Context) error {
		c, err := l.engine.provider.CreateContainer(ctx, n.postgresRequest(user, password))
		if c != nil {
			n.id = c.GetContainerID()
		}
		if err != nil {
			return err
		}
		_, err = l.engine.api.ContainerStart(ctx, n.id, client.ContainerStartOptions{})
		return err
	})
	if err != nil {
		return "", fmt.Errorf("start container: %w", err)
	}
	err = redisnode.Until(ctx, func(ctx context.Context) error {
		addr, err = n.findPostgres(ctx)
		return err
	})
	return addr, err
}

func (n *node) postgresRequest(user, password string) testcontainers.ContainerRequest {
	l := n.launch
	port := network.MustParsePort(fmt.Sprintf("%d/tcp", n.port))
	return testcontainers.ContainerRequest{
		Image:        requestName(l.image),
		Name:         l.name(n.name),
		Labels:       l.labels(n.name),
		Entrypoint:   []string{"sh", "-c", postgresScript},
		Env:          map[string]string{"OVERSELL_USER": user, "OVERSELL_PASSWORD": password, "LC_ALL": "C"},
		ExposedPorts: []string{port.String()},
		Tmpfs:        map[string]string{dataDir: "rw"},
		Networks:     []string{l.clients.name},
		EndpointSettingsModifier: func(m map[string]*network.EndpointSettings) {
			m[l.clients.name] = l.clients.endpoint(n.index)
		},
		ConfigModifier: func(c *container.Config) { c.User = "postgres" },
		HostConfigModifier: func(h *container.HostConfig) {
			h.PortBindings = network.PortMap{port: {{HostIP: netip.MustParseAddr(loopback), HostPort: ""}}}
		},
	}
}

// findPostgres returns the address on which the server answers. One that has
// ended instead is an error with its last words.
func (n *node) findPostgres(ctx context.Context) (string, error) {
	i, err := n.inspect(ctx)
	if err != nil {
		return "", err
	}
	if !i.State.Running {
		return "", redisnode.GiveUp(died("PostgreSQL", i.State.ExitCode, n.lastWords(ctx)))
	}
	port := published(i, n.port)
	last := fmt.Errorf("%s has no published port yet", n.name)
	if port == "" {
		return "", last
	}
	for _, h := range n.launch.engine.hosts(ctx) {
		addr := net.JoinHostPort(h, port)
		if last = asksPostgres(ctx, addr); last == nil {
			return addr, nil
		}
	}
	return "", last
}

// asksPostgres returns nil when a PostgreSQL answers at addr: an engine's proxy
// accepts connections before the server does.
func asksPostgres(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	// SSLRequest, which is answered before any authentication by S or N.
	if _, err := conn.Write([]byte{0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f}); err != nil {
		return err
	}
	answer := make([]byte, 1)
	if _, err := conn.Read(answer); err != nil {
		return fmt.Errorf("no answer from PostgreSQL at %s: %w", addr, err)
	}
	if answer[0] != 'S' && answer[0] != 'N' {
		return fmt.Errorf("what answers at %s isn't PostgreSQL", addr)
	}
	return nil
}
