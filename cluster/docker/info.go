package docker

import (
	"context"
	"os"
	"strings"

	"github.com/oversell/oversell/cluster"
)

// Info is what `oversell doctor` tells of Docker.
type Info struct {
	Engine    string            // e.g. "Docker 20.10.24"
	Endpoint  string            // e.g. "unix:///var/run/docker.sock"
	Host      string            // where published ports are looked for, or were found
	Ryuk      string            // whether testcontainers' reaper runs, and why: "off, no image ..."
	Images    map[string]string // local image by server version; "" where there is none
	Leftovers []string          // of dead runs, see Leftovers
}

// Info looks at the engine. Its error is the same as Probe's for an engine that
// can't be reached; a missing image is no error.
func (b *Backend) Info(ctx context.Context) (Info, error) {
	e, err := b.connect(ctx)
	if err != nil {
		return Info{}, err
	}
	defer e.idle()
	i := Info{Engine: e.product, Endpoint: e.endpoint, Host: e.hostWords(ctx), Ryuk: e.ryuk, Images: map[string]string{}}
	for _, v := range cluster.Versions() {
		if i.Images[v], err = e.localImage(ctx, v); err != nil {
			return Info{}, err
		}
	}
	left, err := e.leftovers(ctx, labelRun)
	if err != nil {
		return Info{}, err
	}
	i.Leftovers = names(left)
	return i, nil
}

// hostWords says where published ports are, and how that is known.
func (e *engine) hostWords(ctx context.Context) string {
	if h := os.Getenv(hostVariable); h != "" {
		return h + ", by " + hostVariable
	}
	if h := e.host.Load(); h != nil {
		return *h
	}
	return strings.Join(e.hosts(ctx), ", else ")
}
