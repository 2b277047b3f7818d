package docker

import (
	"context"
	"fmt"
	"net/url"
)

// Leftovers lists the containers and networks of invocations that have died, as
// "container NAME" and "network NAME". Those of living ones, and those whose
// owner can't be seen from here, aren't in it.
func (b *Backend) Leftovers(ctx context.Context) ([]string, error) {
	e, err := b.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer e.idle()
	items, err := e.leftovers(ctx, labelRun)
	if err != nil {
		return nil, err
	}
	return names(items), nil
}

// Clean removes what Leftovers lists and returns what it removed, also with an error.
func (b *Backend) Clean(ctx context.Context) (removed []string, err error) {
	e, err := b.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer e.idle()
	return e.clean(ctx, labelRun)
}

// clean removes what dead invocations left that carries label.
func (e *engine) clean(ctx context.Context, label string) ([]string, error) {
	items, err := e.leftovers(ctx, label)
	if err != nil {
		return nil, err
	}
	gone, err := e.remove(ctx, items)
	if err != nil {
		err = fmt.Errorf("clean up after dead runs: %w", explain(err))
	}
	return names(gone), err
}

func (e *engine) leftovers(ctx context.Context, label string) ([]item, error) {
	items, err := e.list(ctx, label)
	if err != nil {
		return nil, fmt.Errorf("look for leftovers: %w", explain(err))
	}
	var dead []item
	for _, i := range items {
		if o, ok := ownerOf(i.labels); ok && o.dead(e.owner, e.local()) {
			dead = append(dead, i)
		}
	}
	return dead, nil
}

// local reports whether the engine is reached by a socket of this machine.
func (e *engine) local() bool {
	u, err := url.Parse(e.endpoint)
	return err == nil && u.Scheme == "unix"
}

func names(items []item) []string {
	var list []string
	for _, i := range items {
		list = append(list, i.String())
	}
	return list
}
