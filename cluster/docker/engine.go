package docker

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"

	"github.com/oversell/oversell/internal/hint"
)

// engine is one Docker engine. Safe for concurrent use.
type engine struct {
	provider *testcontainers.DockerProvider
	api      client.APIClient
	product  string // e.g. "Docker 20.10.24"
	endpoint string
	ryuk     string // whether testcontainers' reaper runs, and why
	owner    owner
	prefix   string // the user's mirror of Docker Hub, "" for none

	// host is the address on which published ports were last seen to answer.
	host atomic.Pointer[string]
	// detour is set once a server couldn't be reached but through its published port.
	detour atomic.Bool
}

// connectTimeout bounds everything up to the first useful answer.
const connectTimeout = 10 * time.Second

func connect(ctx context.Context) (*engine, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	me, err := self()
	if err != nil {
		return nil, err
	}
	s := readSettings()
	cli, err := findEndpoint(ctx, s)
	if err != nil {
		return nil, err
	}
	defer func() { _ = cli.Close() }()
	v, err := cli.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return nil, hint.Wrap(fmt.Errorf("ask Docker at %s for its version: %w", cli.DaemonHost(), err),
			"look at `docker version`; the engine may be too old or not be Docker")
	}
	// From here on testcontainers reads its configuration, once and for good.
	ryuk := decideRyuk(ctx, cli, s)
	provider, err := newProvider(ctx)
	if err != nil {
		return nil, hint.Wrap(fmt.Errorf("connect testcontainers to %s: %w", cli.DaemonHost(), err),
			"look at `docker info`, DOCKER_HOST and ~/.testcontainers.properties")
	}
	return &engine{
		provider: provider,
		api:      provider.Client(),
		product:  "Docker " + strings.SplitN(v.Version, "+", 2)[0],
		endpoint: provider.Client().DaemonHost(),
		ryuk:     ryuk,
		owner:    me,
		prefix:   hubPrefix(s),
	}, nil
}

// idle closes the connections to the engine that nothing uses now. The next
// request opens a new one.
func (e *engine) idle() { _ = e.api.Close() }

// newProvider makes testcontainers' provider without a word on stderr, and
// without waiting longer than ctx: it takes no context itself.
func newProvider(ctx context.Context) (*testcontainers.DockerProvider, error) {
	tclog.SetDefault(tclog.NewNoopLogger())
	type result struct {
		p   testcontainers.GenericProvider
		err error
	}
	done := make(chan result, 1)
	go func() {
		p, err := testcontainers.ProviderDefault.GetProvider(testcontainers.WithLogger(tclog.NewNoopLogger()))
		done <- result{p, err}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case r := <-done:
		if r.err != nil {
			return nil, r.err
		}
		p, ok := r.p.(*testcontainers.DockerProvider)
		if !ok {
			return nil, fmt.Errorf("provider %T isn't Docker's", r.p)
		}
		return p, nil
	}
}

func hubPrefix(s settings) string {
	if p := os.Getenv("TESTCONTAINERS_HUB_IMAGE_NAME_PREFIX"); p != "" {
		return p
	}
	return s.hubPrefix
}

const ryukVariable = "TESTCONTAINERS_RYUK_DISABLED"

// decideRyuk turns testcontainers' reaper off where its image isn't at hand,
// unless the user said what is wanted: pulling it would make every start fail
// without a registry. Labels and Clean do its work. It returns what holds.
func decideRyuk(ctx context.Context, cli *client.Client, s settings) string {
	if v := os.Getenv(ryukVariable); v != "" {
		return onOff(v) + ", by " + ryukVariable
	}
	if s.ryukDisabled != "" {
		return onOff(s.ryukDisabled) + ", by ~/.testcontainers.properties"
	}
	//lint:ignore SA1019 it names the image of this very version, and nothing else does
	image := testcontainers.ReaperDefaultImage
	if p := hubPrefix(s); p != "" {
		image = strings.TrimSuffix(p, "/") + "/" + image
	}
	if _, err := cli.ImageInspect(ctx, image); err == nil {
		return "on, image " + image
	}
	// Setenv fails only for impossible names.
	_ = os.Setenv(ryukVariable, "true")
	return "off, no image " + image
}

func onOff(disabled string) string {
	if off, err := strconv.ParseBool(disabled); err == nil && off {
		return "off"
	}
	return "on"
}
