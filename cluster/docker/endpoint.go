package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/magiconair/properties"
	"github.com/moby/moby/client"

	"github.com/oversell/oversell/internal/hint"
)

// settings are what the user set for testcontainers in ~/.testcontainers.properties.
type settings struct {
	tcHost, dockerHost, hubPrefix string
	ryukDisabled                  string // "" when not set
}

func readSettings() settings {
	home, err := os.UserHomeDir()
	if err != nil {
		return settings{}
	}
	p, err := properties.LoadFile(filepath.Join(home, ".testcontainers.properties"), properties.UTF8)
	if err != nil {
		return settings{} // there rarely is one, and testcontainers itself complains of a broken one
	}
	return settings{
		tcHost:       p.GetString("tc.host", ""),
		dockerHost:   p.GetString("docker.host", ""),
		hubPrefix:    p.GetString("hub.image.name.prefix", ""),
		ryukDisabled: p.GetString("ryuk.disabled", ""),
	}
}

// endpoints lists where an engine may be, in the order in which testcontainers
// looks. An address that the user set is the only one: testcontainers would go
// on to the next without a word, and test on another engine than was asked for.
func endpoints(s settings) (list []string, chosen string) {
	for _, c := range []struct{ addr, by string }{
		{s.tcHost, "tc.host in ~/.testcontainers.properties"},
		{os.Getenv("DOCKER_HOST"), "DOCKER_HOST"},
	} {
		if c.addr != "" {
			return []string{c.addr}, c.by
		}
	}
	for _, path := range socketPaths() {
		if _, err := os.Stat(path); err == nil || errors.Is(err, os.ErrPermission) {
			list = append(list, "unix://"+path)
		}
	}
	if s.dockerHost != "" {
		list = append(list, s.dockerHost)
	}
	return list, ""
}

func socketPaths() []string {
	paths := []string{"/var/run/docker.sock"}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		paths = append(paths, filepath.Join(dir, "docker.sock"))
	}
	if home, err := os.UserHomeDir(); err == nil {
		paths = append(paths,
			filepath.Join(home, ".docker", "run", "docker.sock"),
			filepath.Join(home, ".docker", "desktop", "docker.sock"))
	}
	return append(paths, filepath.Join("/run/user", strconv.Itoa(os.Getuid()), "docker.sock"))
}

// pingTimeout bounds the wait for one endpoint's first answer.
const pingTimeout = 1500 * time.Millisecond

// findEndpoint returns a client of the first endpoint that answers.
func findEndpoint(ctx context.Context, s settings) (*client.Client, error) {
	list, chosen := endpoints(s)
	if len(list) == 0 {
		return nil, hint.Wrap(errors.New("find Docker: no engine's socket on this machine"),
			"install and start Docker, set DOCKER_HOST, or use --backend process")
	}
	var errs []error
	for _, addr := range list {
		cli, err := ping(ctx, addr)
		if err == nil {
			return cli, nil
		}
		errs = append(errs, explainEndpoint(addr, chosen, err))
	}
	// The first is the one that people mean; the others would only bury it.
	return nil, errs[0]
}

func ping(ctx context.Context, addr string) (*client.Client, error) {
	cli, err := client.New(client.FromEnv, client.WithHost(addr))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if _, err := cli.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		_ = cli.Close()
		return nil, err
	}
	return cli, nil
}

// explainEndpoint says what to do about an endpoint that doesn't answer.
func explainEndpoint(addr, chosen string, err error) error {
	cause := err
	err = fmt.Errorf("reach Docker at %s: %w", addr, err)
	switch {
	case chosen != "":
		return hint.Wrap(err, "%s points to %s: correct or unset it, or start the engine there", chosen, addr)
	case denied(addr, cause):
		return hint.Wrap(err, "this user may not use Docker: run `sudo usermod -aG docker $USER` and log in again, or run as root")
	case errors.Is(cause, context.DeadlineExceeded):
		return hint.Wrap(err, "the engine didn't answer in time: look at `docker info`, or use --backend process")
	default:
		return hint.Wrap(err, "start the engine (`sudo systemctl start docker`, or Docker Desktop), or use --backend process")
	}
}

// denied reports whether the socket refuses this user. The client's own error
// only says so in words, so the socket is asked.
func denied(addr string, err error) bool {
	if errors.Is(err, os.ErrPermission) {
		return true
	}
	u, uerr := client.ParseHostURL(addr)
	if uerr != nil || u.Scheme != "unix" {
		return false
	}
	c, derr := net.DialTimeout("unix", u.Host+u.Path, pingTimeout)
	if derr == nil {
		_ = c.Close()
	}
	return errors.Is(derr, os.ErrPermission)
}
