package main

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/remote"
	"github.com/oversell/oversell/internal/engine"
	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/inventory"
	"github.com/oversell/oversell/result"
)

func TestWithoutSecrets(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"redis://h:1/2":                                          "redis://h:1/2",
		"redis://user@h":                                         "redis://user@h",
		"redis://:hush@h":                                        "redis://h",
		"rediss://user:hush@h?skip_verify=true":                  "rediss://user@h?skip_verify=true",
		"unix://user:hush@/run/redis/sock?db=2":                  "unix://user@/run/redis/sock?db=2",
		"redis://:hush@h?master_name=m&password=hush&username=u": "redis://h?master_name=m&username=u",
		"postgres://u:hush@h/d?sslmode=require&sslpassword=hush": "postgres://u@h/d?sslmode=require",
		"postgres://h/d?Secret=hush&access_token=hush":           "postgres://h/d",
		"redis://:hu%zzsh@h":                                     "URL",
	} {
		public, hidden := withoutSecrets(raw)
		assert.Equal(t, want, public)
		assert.NotContains(t, public, "hush")
		if public != "URL" {
			assert.Equal(t, public != raw, hidden, raw)
		}
	}
}

func TestSplitURLs(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"redis://a", "redis://b?x=1,2", "rediss://c"}, splitURLs([]string{"redis://a,redis://b?x=1,2", "rediss://c"}))
	assert.Equal(t, []string{""}, splitURLs([]string{""}))
	assert.Empty(t, splitURLs(nil))
}

func TestServerFlags(t *testing.T) {
	t.Parallel()
	o, err := parse(t, "--redis-url", "redis://a", "--sentinel-url", "redis://s?master_name=m", "--quorum-url", "redis://a,redis://b", "--quorum-url", "redis://c",
		"--allow-nonempty", "--inventory", "postgres", "--inventory-url", "postgres://h/d")
	require.NoError(t, err)
	assert.Equal(t, serverOptions{
		RedisURL: "redis://a", SentinelURLs: []string{"redis://s?master_name=m"}, QuorumURLs: []string{"redis://a,redis://b", "redis://c"},
		AllowNonempty: true, Inventory: "postgres", InventoryURL: "postgres://h/d",
	}, o.serverOptions)
}

func TestServersThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change     func(*runOptions)
		text, hint string
	}{
		"no server":           {func(o *runOptions) { o.Backend = "remote" }, "the remote backend needs to know its servers", "give --redis-url"},
		"another backend":     {func(o *runOptions) { o.Backend, o.QuorumURLs = "docker", []string{"redis://h"} }, "--backend docker uses no servers that are there already", "leave --backend out"},
		"an unreadable URL":   {func(o *runOptions) { o.RedisURL = "redis://:hush@h:port" }, "--redis-url: it can't be read as a URL", "for example redis://user@host"},
		"keys of nobody":      {func(o *runOptions) { o.AllowNonempty = true }, "--allow-nonempty is for the remote backend", "name your servers"},
		"an unknown store":    {func(o *runOptions) { o.Inventory = "postgresql" }, `unknown value of --inventory "postgresql"`, `did you mean "postgres"?`},
		"two stores":          {func(o *runOptions) { o.Inventory, o.InventoryURL = "redis", "postgres://h/d" }, "--inventory-url names a PostgreSQL database, and --inventory says redis", "leave one of them out"},
		"no PostgreSQL's URL": {func(o *runOptions) { o.InventoryURL = "mysql://u:hush@h" }, "the inventory's URL: it doesn't begin with postgres://", "for example postgres://"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := newHarness(t).plan(options(t, tc.change))
			require.EqualError(t, err, tc.text)
			assert.Contains(t, hint.Of(err), tc.hint)
			assertCode(t, exitUsage, err)
		})
	}
}

func TestCommandLeavesPasswordsOut(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	o := options(t, func(o *runOptions) {
		o.Seed, o.Dir = ptr(int64(1)), defaultDir
		o.RedisURL, o.AllowNonempty = "redis://:hush@h/1", true
		o.QuorumURLs = []string{"redis://:hush@a,redis://u:hush@b", "redis://c"}
		o.InventoryURL = "postgres://u:hush@h/d"
	})
	p, err := h.plan(o)
	require.NoError(t, err)
	require.NotNil(t, p.remote, "naming servers asks for the backend")
	assert.Equal(t, "oversell run ttl-expiry --lock naive,safe --backend remote --redis-url redis://h/1 --quorum-url redis://a"+
		" --quorum-url redis://u@b --quorum-url redis://c --allow-nonempty --inventory-url postgres://u@h/d --seed 1", h.command(o, p, "remote"))
	assert.Contains(t, o.secretive(), "$OVERSELL_REDIS_PASSWORD, $PGPASSWORD keeps them off")
	o.RedisURL, o.QuorumURLs, o.InventoryURL = "redis://h", nil, ""
	assert.Empty(t, o.secretive())
}

// fakeSource is PostgreSQL that is there or isn't.
type fakeSource struct {
	url string
	on  cluster.Backend
	err error
}

func (s *fakeSource) Driver() string                        { return inventory.Postgres }
func (s *fakeSource) Probe(context.Context) (string, error) { return "PostgreSQL 99", s.err }
func (s *fakeSource) Start(context.Context, string) (*inventory.Place, error) {
	panic("a fake source starts nothing")
}

func TestTheInventoryIsToldToTheEngine(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	dir := "--dir=" + filepath.Join(t.TempDir(), "runs")
	source := &fakeSource{}
	h.postgres = func(url string, b cluster.Backend) inventory.Source {
		source.url, source.on = url, b
		return source
	}
	require.Equal(t, exitMet, h.exec(t.Context(), "run", dir))
	assert.Nil(t, h.player.config.Inventory, "Redis, on the backend's own servers")
	assert.Nil(t, h.player.config.InventoryBackend)

	require.Equal(t, exitMet, h.exec(t.Context(), "run", dir, "--inventory", "postgres"))
	assert.Same(t, source, h.player.config.Inventory)
	assert.Empty(t, source.url)
	assert.Equal(t, "docker", source.on.Name(), "so that it can be a container, too")
	assert.Contains(t, h.stderr.String(), "inventory postgres: PostgreSQL 99\n")

	require.Equal(t, exitMet, h.exec(t.Context(), "run", dir, "--inventory-url", "postgres://u:hush@h/d"))
	assert.Equal(t, "postgres://u:hush@h/d", source.url)
	assert.NotContains(t, h.stdout.String()+h.stderr.String(), "hush")

	source.err = hint.Wrap(errors.New("nobody is there"), "start it")
	played := len(h.player.jobs)
	require.Equal(t, exitEnvironment, h.exec(t.Context(), "run", dir, "--inventory", "postgres"))
	assert.Contains(t, h.stderr.String(), "error: the inventory can't be kept in PostgreSQL: nobody is there\nhint: start it\n")
	assert.Len(t, h.player.jobs, played, "nothing was started")
}

// The store of record of runs on the user's servers is on this machine: on
// real servers if there are any.
func TestTheInventoryOfRemoteRunsIsNearby(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	theirs, err := remote.New(remote.Options{Redis: "redis://h"})
	require.NoError(t, err)
	down := errors.New("not here")
	docker, process, embedded := &fakeBackend{name: "docker"}, &fakeBackend{name: "process"}, &fakeBackend{name: "embedded", fake: true}
	h.backends = []cluster.Backend{docker, process, embedded}
	for _, want := range []*fakeBackend{process, docker, embedded} {
		c := engine.Config{Backend: theirs}
		require.NoError(t, h.keep(t.Context(), &serverOptions{}, &c))
		assert.Same(t, want, c.InventoryBackend)
		want.err = down
	}
	err = h.keep(t.Context(), &serverOptions{}, &engine.Config{Backend: theirs})
	require.ErrorContains(t, err, "nothing here can keep the inventory: process: not here; docker: not here; embedded: not here")
	assertCode(t, exitEnvironment, err)
}

func TestWhatOnlyStartedServersCanTellIsSkipped(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.player.run = func(ctx context.Context, j engine.Job) (result.Run, error) {
		if j.Kind.Alias == "naive" {
			return result.Run{}, errors.Join(engine.ErrUnavailable, errors.New("no such thing"))
		}
		return asClaimed(ctx, j)
	}
	require.Equal(t, exitMet, h.exec(t.Context(), "run", "--dir="+t.TempDir()))
	assert.Contains(t, h.stderr.String(), "skipped ttl-expiry under setnx-expire-del: not available here")
}
