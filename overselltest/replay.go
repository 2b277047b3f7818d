package overselltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/internal/explore"
	"github.com/oversell/oversell/internal/hint"
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
		t.Fatalf("overselltest: %v", err)
	}
	s, err := explore.ParseSchedule(data)
	if err != nil {
		if h := hint.Of(err); h != "" {
			t.Fatalf("overselltest: %s: %v\n%s", path, err, h)
		}
		t.Fatalf("overselltest: %s: %v", path, err)
	}
	c := s.Case(o.c.Kind)
	if c.Masters > 0 {
		c.Kind.Topologies = []cluster.Shape{cluster.Quorum}
	}
	x, err := explore.Replay(o.cfg, c, s)
	switch {
	case err == nil:
		t.Errorf("%s: %s in the schedule of %s:\n\n%s", o.name, x.Property, path, tell(x))
	case explore.Repaired(err):
		t.Logf("%s isn't broken by the schedule in %s any more: %v", o.name, path, err)
	default:
		t.Fatalf("overselltest: %s: %v", path, err)
	}
	if o.server {
		o.replayReal(t, c, s)
	}
}

// replayReal plays s on real servers.
func (o *options) replayReal(t *testing.T, c explore.Case, s explore.Schedule) {
	t.Helper()
	b := realServer(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	shape := cluster.Single
	if c.Masters > 0 {
		shape = cluster.Quorum
	}
	r, err := explore.ReplayReal(ctx, c, s, startCluster(ctx, t, b, "lock", shape))
	if err != nil {
		t.Fatalf("overselltest: %v", err)
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
	data, err := json.MarshalIndent(x.Schedule(), "", "  ")
	if err == nil {
		err = os.MkdirAll(o.dir, 0o755)
	}
	name := strings.Join(append([]string{t.Name()}, append(o.hazards, string(x.Property))...), "-")
	path := filepath.Join(o.dir, fileName(name)+".json")
	if err = errors.Join(err, os.WriteFile(path, append(data, '\n'), 0o644)); err != nil {
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
