package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/internal/hint"
)

// build is where the images of one server version come from.
type build struct {
	own      string // what scripts/images.sh makes
	official string
	server   string // the server's program
}

// buildOf returns the images of a --redis value; "" means the default version.
func buildOf(version string) (build, error) {
	if version == "" {
		version = cluster.Versions()[0]
	}
	for _, known := range cluster.Versions() {
		if version != known {
			continue
		}
		if v, ok := strings.CutPrefix(version, "valkey-"); ok {
			return build{"oversell/valkey:" + v, "valkey/valkey:" + v, "valkey-server"}, nil
		}
		return build{"oversell/redis:" + version, "redis:" + version, "redis-server"}, nil
	}
	return build{}, hint.Wrap(fmt.Errorf("find an image of server version %q: not a known version", version),
		"known versions: %s", strings.Join(cluster.Versions(), ", "))
}

// officialName is the official image's name, behind the user's mirror if there is one.
func (e *engine) officialName(b build) string {
	if e.prefix == "" {
		return b.official
	}
	return strings.TrimSuffix(e.prefix, "/") + "/" + b.official
}

// localImage returns the image that the engine already has, or "".
func (e *engine) localImage(ctx context.Context, version string) (string, error) {
	b, err := buildOf(version)
	if err != nil {
		return "", err
	}
	names := []string{b.own, e.officialName(b)}
	if e.prefix != "" {
		names = append(names, b.official)
	}
	for _, name := range names {
		_, err := e.api.ImageInspect(ctx, name)
		if err == nil {
			return name, nil
		}
		if !errdefs.IsNotFound(err) {
			return "", explain(fmt.Errorf("look for image %s: %w", name, err))
		}
	}
	return "", nil
}

// pullable returns the official image's name if its registry has it, else an
// error with a hint.
func (e *engine) pullable(ctx context.Context, version string) (string, error) {
	b, err := buildOf(version)
	if err != nil {
		return "", err
	}
	name := e.officialName(b)
	_, err = e.api.DistributionInspect(ctx, name, client.DistributionInspectOptions{EncodedRegistryAuth: auth(ctx, name)})
	if err != nil {
		return "", noImage(b, version, fmt.Errorf("ask the registry for %s: %w", name, err))
	}
	return name, nil
}

// pullTimeout bounds one pull.
const pullTimeout = 3 * time.Minute

// provideImage returns an image that the engine has, after pulling it if need be.
func (e *engine) provideImage(ctx context.Context, version string) (string, error) {
	name, err := e.localImage(ctx, version)
	if name != "" || err != nil {
		return name, err
	}
	b, err := buildOf(version)
	if err != nil {
		return "", err
	}
	name = e.officialName(b)
	if err := e.pull(ctx, name); err != nil {
		if ctx.Err() != nil {
			return "", fmt.Errorf("pull %s: %w", name, ctx.Err())
		}
		return "", noImage(b, version, fmt.Errorf("pull %s: %w", name, err))
	}
	return name, nil
}

// pull tries once. testcontainers' own pull repeats what can't work for minutes.
func (e *engine) pull(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, pullTimeout)
	defer cancel()
	answer, err := e.api.ImagePull(ctx, name, client.ImagePullOptions{RegistryAuth: auth(ctx, name)})
	if err != nil {
		return err
	}
	defer func() { _ = answer.Close() }()
	return answer.Wait(ctx)
}

// auth returns the user's credentials for the image's registry, or "".
func auth(ctx context.Context, image string) string {
	_, config, err := testcontainers.DockerImageAuth(ctx, image)
	if err != nil {
		return "" // no credentials: public images need none
	}
	encoded, err := authconfig.Encode(config)
	if err != nil {
		return ""
	}
	return encoded
}

// noImage says how to get an image that is neither here nor to be pulled.
func noImage(b build, version string, cause error) error {
	if version == "" {
		version = cluster.Versions()[0]
	}
	err := fmt.Errorf("no image of server version %s (%s, %s): %w", version, b.own, b.official, cause)
	if errors.Is(cause, context.DeadlineExceeded) {
		return hint.Wrap(err, "the registry didn't answer in time: build it with `make images` or `scripts/images.sh %s`", version)
	}
	return hint.Wrap(err, "build it with `make images` or `scripts/images.sh %s`", version)
}

// requestName is the name to hand to testcontainers: one with a registry in it
// isn't prefixed with the user's mirror once more, or at all.
func requestName(image string) string {
	first, _, slash := strings.Cut(image, "/")
	if slash && (strings.ContainsAny(first, ".:") || first == "localhost") {
		return image
	}
	if !slash {
		image = "library/" + image
	}
	return "docker.io/" + image
}
