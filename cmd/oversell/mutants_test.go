package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/checks"
	"github.com/oversell/oversell/cluster/embedded"
	"github.com/oversell/oversell/cluster/process"
	"github.com/oversell/oversell/instance"
	"github.com/oversell/oversell/internal/doctor"
	"github.com/oversell/oversell/internal/engine"
	"github.com/oversell/oversell/inventory"
	"github.com/oversell/oversell/locks"
)

// mutants are changes for the worse: of a lock, of the inventory, of what is
// checked, or of what is injected. Each is made to an app with the real lists.
var mutants = map[string]func(*app){
	"a release that removes whoever's key it finds": weaker(releaseBlindly, "lua-release", "lua-watchdog"),
	"a renewal that is never sent":                  weaker(renewNothing, "lua-watchdog"),
	"a release that denies what it did":             denying,
	"a majority of two in five":                     narrower("redlock-watchdog"),
	"a TTL in the wrong unit": remade(func(c locks.Clients) locks.Clients {
		c.Redis.AddHook(rewritten(func(set []any) { set[4] = "ex" }))
		return c
	}, "lua-release"),
	"a TTL cut to nearly nothing": remade(func(c locks.Clients) locks.Clients {
		c.Redis.AddHook(rewritten(func(set []any) { set[5] = 1 }))
		return c
	}, "lua-release"),
	"a fence that lets every token through": func(a *app) {
		a.open = fencing(a.open, func(int64) bool { return true })
	},
	"a fence that compares with the last write": func(a *app) {
		var last newestWritten
		a.open = fencing(a.open, last.passes)
	},
	"no reconciliation": without("reconciliation"),
	"no progress":       without("progress"),
	"no leak":           without("leak"),
	"no truth": func(a *app) {
		denying(a)
		without("truth")(a)
	},
	"a fault that does nothing": idle,
	"no assumptions": func(a *app) {
		idle(a)
		without("assumptions")(a)
	},
}

var denying = weaker(denyRelease, "lua-release")

// idle lets every fault do nothing.
func idle(a *app) {
	a.newEngine = func(c engine.Config) player {
		c.Disable = func(int) bool { return true }
		return engine.New(c)
	}
}

// TestTheMatrixNoticesEveryMutant plays, through the matrix's own code, the few
// cells that are meant to notice each mutant: they are as the locks claim
// without it, and not with it.
func TestTheMatrixNoticesEveryMutant(t *testing.T) {
	t.Parallel()
	const blind, liar = "a release that removes whoever's key it finds", "a release that denies what it did"
	for _, c := range []struct {
		control string // what the mutant is compared with: another one, "" for none
		mutants []string
		backend string
		cells   []string
		with    int // the exit code with the mutant
		without int // and without
	}{
		{"", []string{blind}, embedded.Name, []string{"repeated-release", "--lock", "lua-release,lua-watchdog", "--ttl", "2s"}, exitViolation, exitMet},
		{"", []string{"a renewal that is never sent"}, embedded.Name, []string{"ttl-expiry", "--lock", "lua-watchdog", "--ttl", "2s"}, exitViolation, exitMet},
		{"", []string{"a fence that lets every token through"}, embedded.Name, []string{"flushed", "bypass", "--lock", "safe"}, exitViolation, exitMet},
		{"", []string{"a fence that lets every token through", "a fence that compares with the last write"}, embedded.Name,
			[]string{"-f", exampleFile("overtaken-inside"), "--lock", "safe"}, exitViolation, exitMet},
		{"", []string{"a TTL in the wrong unit", "a TTL cut to nearly nothing"}, process.Name,
			[]string{"-f", exampleFile("sub-second-ttl"), "--lock", "lua-release"}, exitViolation, exitMet},
		{"", []string{"a majority of two in five"}, process.Name, []string{"quorum-loses-one", "--lock", "redlock-watchdog"}, exitViolation, exitMet},
		{"", []string{"no reconciliation"}, embedded.Name, []string{"ttl-expiry", "--lock", "naive", "--ttl", "1s"}, exitViolation, exitMet},
		{"", []string{"no progress"}, embedded.Name, []string{"lost-command", "--lock", "naive"}, exitViolation, exitMet},
		{"", []string{"no leak"}, embedded.Name, []string{"gone-at-release", "--lock", "leaky-watchdog", "--ttl", "3s"}, exitViolation, exitMet},
		{"", []string{liar}, embedded.Name, []string{"lost-reply", "--lock", "lua-release"}, exitViolation, exitMet},
		{liar, []string{"no truth"}, embedded.Name, []string{"lost-reply", "--lock", "lua-release"}, exitMet, exitViolation},
		{"a fault that does nothing", []string{"no assumptions"}, embedded.Name, []string{"lost-reply", "--lock", "lua-release"}, exitMet, exitInconclusive},
	} {
		args := append([]string{"run", "--all", "--backend", c.backend, "--allow-simulated",
			"--stock", "25", "--instances", "2", "--buyers", "30", "--seed", "7"}, c.cells...)
		play := func(name string, want int) {
			t.Run(fmt.Sprintf("%s/%s", filepath.Base(strings.Join(c.cells[:2], " ")), cmp.Or(name, "none")), func(t *testing.T) {
				t.Parallel()
				if c.backend == process.Name {
					needsProcesses(t)
				}
				h := fullHarness()
				if mutate := mutants[name]; mutate != nil {
					mutate(h.app)
					h.worker = append(h.worker[:1:1], mutantCommand, name)
				}
				dir := t.TempDir()
				code := h.exec(t.Context(), append(slices.Clip(args), "--dir", dir)...)
				assert.Equal(t, want, code, "%s%s", &h.stdout, &h.stderr)
				if n := readMatrixFile(t, dir).Count(); want == exitViolation {
					assert.Equal(t, n.Played, n.Unexpected, "every cell is meant to notice it: %s", &h.stdout)
				}
			})
		}
		for _, name := range c.mutants {
			require.NotNil(t, mutants[name], name)
			play(name, c.with)
		}
		play(c.control, c.without)
	}
}

// fullHarness is a harness with the real lists and the real engine.
func fullHarness() *harness {
	h := &harness{environment: map[string]string{}}
	h.app = &app{out: &h.stdout, err: &h.stderr, notes: &notes{w: &h.stderr}, machine: doctor.Look, program: "oversell"}
	h.join()
	h.env = func(name string) string { return h.environment[name] }
	return h
}

// mutantCommand is the word in the command line of an instance whose lists a
// mutant has changed; the mutant's name comes next.
const mutantCommand = "mutant-instance"

func mutantInstance(name string) int {
	a := &app{}
	a.join()
	mutants[name](a)
	if err := instance.Main(context.Background(), os.Stdin, os.Stdout, a.world()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitInternal
	}
	return exitMet
}

// without drops a check.
func without(check string) func(*app) {
	return func(a *app) {
		a.checks = slices.DeleteFunc(slices.Clone(a.checks), func(c checks.Check) bool { return c.Name == check })
	}
}

// remade replaces locks by what change makes of their clients. What they claim
// stays.
func remade(change func(locks.Clients) locks.Clients, names ...string) func(*app) {
	return func(a *app) {
		a.kinds = slices.Clone(a.kinds)
		for i, k := range a.kinds {
			if slices.Contains(names, k.Name) {
				a.kinds[i].New = func(ctx context.Context, c locks.Clients, o locks.Options) (locks.Locker, error) {
					return k.New(ctx, change(c), o)
				}
			}
		}
	}
}

// weaker lets a client do something else instead of a lock's commands.
func weaker(instead scripted, names ...string) func(*app) {
	return remade(func(c locks.Clients) locks.Clients {
		c.Redis.AddHook(instead)
		return c
	}, names...)
}

// narrower lets each instance ask three of the five masters, so that two of five
// make a majority.
func narrower(names ...string) func(*app) {
	return remade(func(c locks.Clients) locks.Clients {
		masters := slices.Clone(c.Masters)
		rand.Shuffle(len(masters), func(i, j int) { masters[i], masters[j] = masters[j], masters[i] })
		c.Masters = masters[:3]
		return c
	}, names...)
}

// scripted is a hook that acts instead of a lock's scripts. It returns what the
// script is to have answered, or false to let the command be.
type scripted func(ctx context.Context, next redis.ProcessHook, script, key string, cmd redis.Cmder) (int64, bool, error)

func releaseBlindly(ctx context.Context, next redis.ProcessHook, script, key string, _ redis.Cmder) (int64, bool, error) {
	if script != locks.ReleaseScript().Hash() {
		return 0, false, nil
	}
	del := redis.NewIntCmd(ctx, "del", key)
	err := next(ctx, del)
	return del.Val(), true, err
}

func renewNothing(_ context.Context, _ redis.ProcessHook, script, _ string, _ redis.Cmder) (int64, bool, error) {
	return 1, script == locks.RenewScript().Hash(), nil
}

func denyRelease(ctx context.Context, next redis.ProcessHook, script, _ string, cmd redis.Cmder) (int64, bool, error) {
	if script != locks.ReleaseScript().Hash() {
		return 0, false, nil
	}
	err := next(ctx, cmd)
	return 0, err == nil, err
}

// DialHook implements redis.Hook.
func (scripted) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook implements redis.Hook.
func (scripted) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook implements redis.Hook.
func (s scripted) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		script, key := scriptOf(cmd)
		if script == "" {
			return next(ctx, cmd)
		}
		answer, acted, err := s(ctx, next, script, key, cmd)
		switch {
		case err != nil:
			cmd.SetErr(err)
		case acted:
			cmd.(*redis.Cmd).SetVal(answer)
		default:
			return next(ctx, cmd)
		}
		return err
	}
}

// rewritten is a hook that changes the words of every SET before it is sent.
type rewritten func(set []any)

// DialHook implements redis.Hook.
func (rewritten) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook implements redis.Hook.
func (rewritten) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook implements redis.Hook.
func (r rewritten) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "set" {
			r(cmd.Args())
		}
		return next(ctx, cmd)
	}
}

// scriptOf is the hash of the script that a command runs, and its key.
func scriptOf(cmd redis.Cmder) (hash, key string) {
	if args := cmd.Args(); len(args) > 3 {
		text, key := fmt.Sprint(args[1]), fmt.Sprint(args[3])
		switch cmd.Name() {
		case "evalsha":
			return text, key
		case "eval":
			return redis.NewScript(text).Hash(), key
		}
	}
	return "", ""
}

// fencing opens inventories whose fence is passes.
func fencing(open instance.OpenStore, passes func(token int64) bool) instance.OpenStore {
	return func(ctx context.Context, at instance.Inventory, dial instance.Dialer, buyers int) (inventory.Store, error) {
		s, err := open(ctx, at, dial, buyers)
		return fence{s, passes}, err
	}
}

type fence struct {
	inventory.Store
	passes func(token int64) bool
}

func (f fence) Commit(ctx context.Context, o inventory.Order, units int, fenced bool) (int, error) {
	if fenced && !f.passes(o.Token) {
		return 0, inventory.ErrStaleToken
	}
	return f.Store.Commit(ctx, o, units, false)
}

// newestWritten is the newest token of which an order was written.
type newestWritten struct {
	mu    sync.Mutex
	token int64
}

func (n *newestWritten) passes(token int64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if token < n.token {
		return false
	}
	n.token = token
	return true
}
