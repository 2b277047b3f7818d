package overselltest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/process"
	"github.com/oversell/oversell/internal/explore"
)

// OnServer has Replay play the schedule on a real server too: a redis-server from
// PATH, or as many as the schedule has masters. Without one the test is skipped.
func OnServer() Option { return func(o *options) { o.server = true } }

// Replay plays a schedule that Explore has left at path, for the same lock. It fails the
// test when the lock is still broken by it, and passes when it isn't any more, which it
// logs. Buyers, stock, TTL, masters and hazards are the schedule's; of the options Fenced,
// Name and OnServer count.
func Replay(t *testing.T, newLock NewLock, path string, opts ...Option) {
	t.Helper()
	o := optionsOf(t, newLock, opts)
	data, err := os.ReadFile(path)
	if err != nil {
		fatal(t, err)
	}
	s, err := explore.ParseSchedule(data)
	if err != nil {
		fatal(t, fmt.Errorf("%s: %w", path, err))
	}
	c := s.Case(o.c.Kind)
	c.Kind.Topologies = []cluster.Shape{c.Shape()}
	x, err := explore.Replay(o.cfg, c, s)
	switch {
	case err == nil:
		t.Errorf("%s: %s in the schedule of %s:\n\n%s", o.name, x.Property, path, tell(x))
	case explore.Repaired(err):
		t.Logf("%s isn't broken by the schedule in %s any more: %v", o.name, path, err)
	default:
		fatal(t, fmt.Errorf("%s: %w", path, err))
	}
	if o.server {
		o.replayReal(t, c, s)
	}
}

// replayReal plays s on real servers.
func (o *options) replayReal(t *testing.T, c explore.Case, s explore.Schedule) {
	t.Helper()
	if !redisOnPath() {
		t.Skip("overselltest: there is no redis-server on PATH to play the schedule on")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := explore.ReplayReal(ctx, c, s, startCluster(ctx, t, process.New(), "lock", c.Shape()))
	if err != nil {
		fatal(t, err)
	}
	say := t.Logf
	if r.Confirmed {
		say = t.Errorf
	}
	say("%s: %s\n\n  %s", o.name, r.Verdict(), strings.Join(r.Lines, "\n  "))
}

// save leaves x in a file, and tells how to play it again.
func (o *options) save(t *testing.T, x *explore.Counterexample) string {
	t.Helper()
	if o.dir == "" {
		return ""
	}
	data, err := x.Schedule().File()
	if err == nil {
		err = os.MkdirAll(o.dir, 0o755)
	}
	name := strings.Join(slices.Concat([]string{t.Name()}, o.hazards, []string{string(x.Property)}), "-")
	path := filepath.Join(o.dir, fileName(name)+".json")
	if err = errors.Join(err, os.WriteFile(path, data, 0o644)); err != nil {
		return fmt.Sprintf("\nThe schedule couldn't be left in a file: %v", err)
	}
	return fmt.Sprintf("\nThe schedule is left in %s. overselltest.Replay(t, lock, %q) plays it again, and with\noverselltest.OnServer() also on a real server.", path, filepath.ToSlash(path))
}

// fileName makes of a name one that every file system takes.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, name)
}
