package explore

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// StuckError is returned when a lock neither sends, waits for, nor returns
// anything for long: on a fake clock that can't be a matter of time.
type StuckError struct {
	Kind  string
	Why   string
	Stack string // of the goroutine that is to blame
}

func (e *StuckError) Error() string {
	return fmt.Sprintf("%s is stuck: %s\n%s", e.Kind, e.Why, e.Stack)
}

const stuckAfter = 20 * time.Second

// watch returns nil when done is closed, and an error when no event has
// happened for long.
func (tm *team) watch(done <-chan struct{}) error {
	limit := tm.cfg.StuckAfter
	if limit == 0 {
		limit = stuckAfter
	}
	tick := time.NewTicker(limit / 20)
	defer tick.Stop()
	last, quiet := tm.beat.Load(), 0
	for {
		select {
		case <-done:
			return nil
		case <-tick.C:
		}
		now := tm.beat.Load()
		if now != last {
			last, quiet = now, 0
			continue
		}
		if quiet++; quiet >= 20 {
			return diagnose(tm.c.Kind.Name)
		}
	}
}

var goroutineHead = regexp.MustCompile(`^goroutine \d+ \[([^\]]*)\]`)

// blame says why a goroutine in such a state keeps its bubble's clock from
// moving on. The first that fits any goroutine counts.
var blame = []suspect{
	{"IO wait", "it uses a real connection or file, which the fake clock can't move; use the clients, or the Dial, that New is given"},
	{"running", "it spins without ever waiting"},
	{"runnable", "it spins without ever waiting"},
	{"syscall", "it waits in a system call, which the fake clock can't move"},
	{"sync.Mutex.Lock", "it waits for a mutex whose holder waits for a server or a timer"},
	{"sync.RWMutex", "it waits for a mutex whose holder waits for a server or a timer"},
	{"chan", "it waits for a channel that was made outside of the lock, before it"},
	{"select", "it waits for a channel that was made outside of the lock, before it"},
}

type suspect struct{ state, why string }

// fits reports whether a goroutine in such a state, with that stack, is one.
// Whoever was about to be woken by a connection counts as waiting for it.
func (b suspect) fits(state, stack string) bool {
	if b.state == "IO wait" && strings.Contains(stack, "internal/poll.runtime_pollWait") {
		return true
	}
	return strings.HasPrefix(state, b.state)
}

// diagnose looks for the goroutine that keeps a bubble from standing still.
func diagnose(kind string) error {
	buf := make([]byte, 4<<20)
	stacks := strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
	for _, b := range blame {
		for _, s := range stacks {
			m := goroutineHead.FindStringSubmatch(s)
			if m == nil || !strings.Contains(m[1], "synctest bubble") || strings.Contains(m[1], "durable") {
				continue
			}
			if b.fits(m[1], s) && !strings.Contains(s, "explore.(*worker)") {
				return &StuckError{Kind: kind, Why: b.why, Stack: firstLines(s, 24)}
			}
		}
	}
	return &StuckError{Kind: kind, Why: "nothing has happened for a long time, and no goroutine is to blame"}
}

func firstLines(s string, n int) string {
	lines := strings.SplitN(s, "\n", n+1)
	if len(lines) > n {
		lines = append(lines[:n], "...")
	}
	return strings.Join(lines, "\n")
}
