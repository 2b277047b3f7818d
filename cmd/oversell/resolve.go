package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/internal/hint"
)

// autoBackend is the value of --backend that leaves the choice to oversell.
const autoBackend = "auto"

// How long backends may take to say what they can do. An explicit one gets
// longer: there is nothing else to turn to.
const (
	probeAll   = 2 * time.Second
	probeOne   = 10 * time.Second
	probeGrace = 200 * time.Millisecond // for a reason that is on its way when the time is over
)

// choice is the backend to play on.
type choice struct {
	backend cluster.Backend
	why     string // one line
}

// resolver looks for a backend.
type resolver struct {
	backends []cluster.Backend // best first
	ci       bool              // a build server: simulated results are of no use to it
	timeout  time.Duration     // for all of them together
}

// explicit takes the backend of that name, and never another one.
func (r resolver) explicit(ctx context.Context, name string, versions []string) (choice, error) {
	for _, b := range r.backends {
		if b.Name() != name {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, probeOne)
		defer cancel()
		what, err := probeEach(ctx, b, versions)
		if err == nil {
			return choice{b, what}, nil
		}
		err = fmt.Errorf("the %s backend can't be used: %w", name, err)
		if hint.Of(err) == "" {
			err = hint.Wrap(err, "see oversell doctor, or choose another --backend")
		}
		return choice{}, environment(err)
	}
	return choice{}, fmt.Errorf("no backend is called %q", name)
}

// probed is a backend's answer.
type probed struct {
	what string
	err  error
}

// auto asks all backends at once and takes the best that can start every
// shape, else the best that can start any of them.
func (r resolver) auto(ctx context.Context, versions []string, shapes []cluster.Shape) (choice, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	answers := make([]chan probed, len(r.backends))
	for i, b := range r.backends {
		answers[i] = make(chan probed, 1)
		go func() {
			what, err := probeEach(ctx, b, versions)
			answers[i] <- probed{what, err}
		}()
	}
	var passed []string // over which backends, and why
	var partial choice
	for i, b := range r.backends {
		what, err := r.answer(ctx, b, answers[i])
		if err != nil {
			passed = append(passed, fmt.Sprintf("%s: %v", b.Name(), err))
			continue
		}
		why := strings.Join(append([]string{what}, passed...), "; not ")
		lacks := lacking(b, shapes)
		if len(lacks) == 0 {
			return choice{b, why}, nil
		}
		if len(lacks) < len(shapes) && partial.backend == nil {
			partial = choice{b, why}
		}
		passed = append(passed, fmt.Sprintf("%s: %v", b.Name(), errors.Join(lacks...)))
	}
	if partial.backend != nil {
		return partial, nil
	}
	return choice{}, environment(hint.Wrap(fmt.Errorf("no server to test on: %s", strings.Join(passed, "; ")),
		"start Docker or install redis-server; oversell doctor says more"))
}

// probeEach asks b about every one of the versions, or about its own where
// there are none.
func probeEach(ctx context.Context, b cluster.Backend, versions []string) (string, error) {
	if len(versions) == 0 {
		versions = []string{""}
	}
	var found []string
	for _, v := range versions {
		what, err := b.Probe(ctx, v)
		if err != nil {
			return "", err
		}
		found = append(found, what)
	}
	return strings.Join(found, "; "), nil
}

// lacking is why b can't start those of the shapes that it can't start.
func lacking(b cluster.Backend, shapes []cluster.Shape) []error {
	var lacks []error
	for _, s := range shapes {
		if err := b.Supports(s); err != nil {
			lacks = append(lacks, err)
		}
	}
	return lacks
}

// answer waits for a backend as long as there is time.
func (r resolver) answer(ctx context.Context, b cluster.Backend, from <-chan probed) (string, error) {
	var p probed
	select {
	case p = <-from:
	case <-ctx.Done():
		select {
		case p = <-from:
		case <-time.After(probeGrace):
			p.err = ctx.Err()
		}
	}
	if p.err == context.DeadlineExceeded { // not wrapped: nobody said anything better
		return "", fmt.Errorf("no answer within %s", r.timeout)
	}
	if p.err == nil && r.ci && !b.Real() {
		return "", errors.New("its results are simulated, and CI is set")
	}
	return p.what, p.err
}
