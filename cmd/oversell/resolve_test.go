package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/internal/hint"
)

var (
	single   = []cluster.Shape{cluster.Single}
	both     = []cluster.Shape{cluster.Single, cluster.Sentinel}
	sentinel = []cluster.Shape{cluster.Sentinel}
)

func TestAutoTakesTheBestThatAnswers(t *testing.T) {
	t.Parallel()
	down := errors.New("the daemon is down")
	docker, process := &fakeBackend{name: "docker"}, &fakeBackend{name: "process"}
	noDocker, noProcess := &fakeBackend{name: "docker", err: down}, &fakeBackend{name: "process", err: errors.New("no redis-server")}
	noSentinels := &fakeBackend{name: "process", lacks: sentinel}
	embedded := &fakeBackend{name: "embedded", fake: true, lacks: sentinel}
	for name, tc := range map[string]struct {
		backends []cluster.Backend
		shapes   []cluster.Shape
		ci       bool
		want     cluster.Backend
		why      string
	}{
		"the first when all answer":        {[]cluster.Backend{docker, process, embedded}, both, false, docker, "docker is here"},
		"the next, and why not the first":  {[]cluster.Backend{noDocker, process, embedded}, both, false, process, "process is here; not docker: the daemon is down"},
		"simulated when nothing else is":   {[]cluster.Backend{noDocker, noProcess, embedded}, single, false, embedded, "embedded is here; not docker: the daemon is down; not process: no redis-server"},
		"one that has some of the shapes":  {[]cluster.Backend{noDocker, noSentinels, embedded}, both, false, noSentinels, "process is here; not docker: the daemon is down"},
		"one that has all before some":     {[]cluster.Backend{noSentinels, docker}, both, false, docker, "docker is here; not process: process has no sentinel"},
		"real ones on a build server, too": {[]cluster.Backend{noDocker, process, embedded}, both, true, process, "process is here; not docker: the daemon is down"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := resolver{tc.backends, tc.ci, time.Minute}.auto(t.Context(), nil, tc.shapes)
			require.NoError(t, err)
			assert.Same(t, tc.want, got.backend)
			assert.Equal(t, tc.why, got.why)
		})
	}
}

func TestAutoNamesEveryReasonWhenThereIsNothing(t *testing.T) {
	t.Parallel()
	embedded := &fakeBackend{name: "embedded", fake: true, lacks: sentinel}
	backends := []cluster.Backend{&fakeBackend{name: "docker", err: errors.New("the daemon is down")}, embedded}

	_, err := resolver{backends, true, time.Minute}.auto(t.Context(), nil, single)
	assert.EqualError(t, err, "no server to test on: docker: the daemon is down; embedded: its results are simulated, and CI is set")
	assert.NotEmpty(t, hint.Of(err))
	assertCode(t, exitEnvironment, err)

	_, err = resolver{backends, false, time.Minute}.auto(t.Context(), nil, sentinel)
	assert.EqualError(t, err, "no server to test on: docker: the daemon is down; embedded: embedded has no sentinel")
	assertCode(t, exitEnvironment, err)
}

func TestAutoDoesntWaitForTheSilent(t *testing.T) {
	t.Parallel()
	process := &fakeBackend{name: "process"}
	r := resolver{[]cluster.Backend{&fakeBackend{name: "docker", silent: true}, process}, false, 20 * time.Millisecond}
	got, err := r.auto(t.Context(), nil, single)
	require.NoError(t, err)
	assert.Same(t, process, got.backend)
	assert.Equal(t, "process is here; not docker: no answer within 20ms", got.why)
}

func TestAutoAsksAllAtOnce(t *testing.T) {
	t.Parallel()
	// Each answers only once the other one has been asked, too.
	a, b := newMeeting("docker"), newMeeting("process")
	a.other, b.other = b, a
	got, err := resolver{[]cluster.Backend{a, b}, false, time.Minute}.auto(t.Context(), nil, single)
	require.NoError(t, err)
	assert.Same(t, a, got.backend)
}

type meeting struct {
	fakeBackend
	asked chan struct{}
	other *meeting
}

func newMeeting(name string) *meeting {
	return &meeting{fakeBackend: fakeBackend{name: name}, asked: make(chan struct{})}
}

func (m *meeting) Probe(ctx context.Context, _ string) (string, error) {
	close(m.asked)
	select {
	case <-m.other.asked:
		return "here", nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func TestExplicitNeverFallsBack(t *testing.T) {
	t.Parallel()
	down := hint.Wrap(errors.New("the daemon is down"), "start it")
	r := resolver{backends: []cluster.Backend{
		&fakeBackend{name: "docker", err: down},
		&fakeBackend{name: "process", err: errors.New("no redis-server")},
		&fakeBackend{name: "embedded", fake: true},
	}, ci: true}

	_, err := r.explicit(t.Context(), "docker", nil)
	assert.EqualError(t, err, "the docker backend can't be used: the daemon is down")
	assert.Equal(t, "start it", hint.Of(err), "the backend's own hint is kept")
	assertCode(t, exitEnvironment, err)

	_, err = r.explicit(t.Context(), "process", nil)
	assertCode(t, exitEnvironment, err)
	assert.NotEmpty(t, hint.Of(err), "there is always a hint")

	got, err := r.explicit(t.Context(), "embedded", nil)
	require.NoError(t, err, "asked for by name it is taken, also on a build server")
	assert.Equal(t, "embedded", got.backend.Name())
}

func assertCode(t *testing.T, want int, err error) {
	t.Helper()
	var ce *codeError
	if assert.ErrorAs(t, err, &ce) {
		assert.Equal(t, want, ce.code)
	}
}
