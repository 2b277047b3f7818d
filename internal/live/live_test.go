package live_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/oversell/oversell/internal/live"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func selling(sold, left int) live.Status {
	return live.Status{
		Scenario: "ttl-expiry", Lock: "naive", Trial: 1, Trials: 1, Phase: "selling",
		Sold: sold, Left: left, Holders: 2, Elapsed: 1200 * time.Millisecond,
	}
}

const finished = "ttl-expiry  naive  oversold  sold 137 of 100  3.2 s"

func TestTerminalRedrawsOneLineInPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w buffer
		d := live.New(&w, true, 80)
		d.Update(selling(57, 43))
		synctest.Wait()
		assert.Equal(t, []string{"ttl-expiry  naive  selling  sold 57  left 43  holders 2  1.2 s"}, w.screen())

		d.Update(selling(9, 0))
		time.Sleep(150 * time.Millisecond) // on the bubble's clock
		assert.Equal(t, []string{"ttl-expiry  naive  selling  sold 9  left 0  holders 2  1.3 s"}, w.screen(), "a shorter line leaves nothing behind")

		d.Done(finished)
		synctest.Wait()
		assert.Equal(t, []string{finished, ""}, w.screen())

		next := selling(1, 99)
		next.Lock = "safe"
		d.Update(next)
		synctest.Wait()
		assert.Equal(t, []string{finished, "ttl-expiry  safe  selling  sold 1  left 99  holders 2  1.2 s"}, w.screen())
		d.Close()
		assert.Equal(t, []string{finished, ""}, w.screen(), "Close leaves an empty line")
	})
}

func TestTimeGoesOnWithoutUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w buffer
		d := live.New(&w, true, 80)
		defer d.Close()
		d.Update(live.Status{Scenario: "s", Lock: "l", Phase: "starting servers"})
		time.Sleep(3*time.Second + time.Millisecond)
		assert.Equal(t, []string{"s  l  starting servers  sold 0  left 0  holders 0  3.0 s"}, w.screen())
	})
}

func TestUpdatesAreDrawnAtMostTenTimesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w buffer
		d := live.New(&w, true, 80)
		for i := range 1000 {
			d.Update(selling(i, 1000-i))
			time.Sleep(time.Millisecond)
		}
		d.Close()
		assert.InDelta(t, 10, w.writes(), 2)
	})
}

func TestPlainLinesEveryFiveSecondsOfEachRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w buffer
		d := live.New(&w, false, 0)
		play := func(lock string, lasts time.Duration) {
			for at := time.Duration(0); at < lasts; at += 100 * time.Millisecond {
				d.Update(live.Status{Scenario: "s", Lock: lock, Phase: "selling", Elapsed: at})
				time.Sleep(100 * time.Millisecond)
			}
			d.Done("s  " + lock + "  ok")
			synctest.Wait()
		}
		play("short", 4900*time.Millisecond)
		time.Sleep(time.Minute) // nothing is going on
		play("long", 12*time.Second)
		d.Close()
		assert.Equal(t, strings.Join([]string{
			"s  short  ok",
			"s  long  selling  sold 0  left 0  holders 0  5.0 s",
			"s  long  selling  sold 0  left 0  holders 0  10.0 s",
			"s  long  ok",
			"",
		}, "\n"), w.String())
	})
}

func TestPlainLinesHaveNoEscapes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w buffer
		d := live.New(&w, false, 0)
		d.Update(live.Status{Scenario: "a\x1b[2J\r\nb", Lock: "\xff"})
		time.Sleep(6 * time.Second)
		d.Done("done \x1b[31m\nred")
		d.Close()
		assert.Equal(t, "a\\x1b[2J  b  \\xff  sold 0  left 0  holders 0  5.0 s\ndone \\x1b[31m red\n", w.String())
	})
}

func TestLiveLineFitsTheTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w buffer
		d := live.New(&w, true, 40)
		s := selling(1, 2)
		s.Trial, s.Trials = 3, 10
		d.Update(s)
		synctest.Wait()
		assert.Equal(t, []string{"ttl-expiry  naive  trial 3 of 10  se..."}, w.screen())
		s.Lock = strings.Repeat("x", 10_000)
		d.Update(s)
		synctest.Wait()
		require.Len(t, w.screen(), 1)
		assert.Len(t, w.screen()[0], 39)
		d.Close()
	})
}

func TestCloseIsFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w buffer
		d := live.New(&w, true, 80)
		d.Done("kept")
		d.Close()
		d.Update(selling(1, 2))
		d.Done("lost")
		d.Close()
		assert.Equal(t, "kept\n", w.String())
	})
}

func TestNothingBlocksOnAStuckWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := stuck{make(chan struct{})}
		d := live.New(w, true, 80)
		start := time.Now()
		for i := range 1000 {
			d.Update(selling(i, 0))
			d.Done(finished)
		}
		assert.Zero(t, time.Since(start), "Update and Done wait for nothing")
		d.Close()
		assert.Equal(t, time.Second, time.Since(start), "Close waits, but not for ever")
		close(w.free) // lets the bubble end
	})
}

func TestManyCallersAtOnce(t *testing.T) {
	t.Parallel()
	for _, tty := range []bool{true, false} {
		var w buffer
		d := live.New(&w, tty, 80)
		var callers sync.WaitGroup
		for i := range 8 {
			callers.Go(func() {
				for j := range 100 {
					d.Update(selling(i, j))
				}
				d.Done(fmt.Sprintf("run %d", i))
			})
		}
		callers.Wait()
		d.Close()
		for i := range 8 {
			assert.Equal(t, 1, strings.Count(w.String(), fmt.Sprintf("run %d\n", i)))
		}
	}
}

type stuck struct{ free chan struct{} }

func (s stuck) Write(p []byte) (int, error) {
	<-s.free
	return len(p), nil
}

// buffer is a writer that can be read while it is written to.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
	n   int
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func (b *buffer) writes() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.n
}

// screen is what a terminal shows after all that was written, line by line.
// It knows the carriage return and "erase to the end of the line".
func (b *buffer) screen() []string {
	lines := []string{""}
	column := 0
	for s := b.String(); s != ""; {
		last := &lines[len(lines)-1]
		switch {
		case s[0] == '\n':
			lines, column, s = append(lines, ""), 0, s[1:]
		case s[0] == '\r':
			column, s = 0, s[1:]
		case strings.HasPrefix(s, "\x1b[K"):
			*last, s = (*last)[:column], s[3:]
		default:
			*last = (*last)[:column] + s[:1] + (*last)[min(column+1, len(*last)):]
			column, s = column+1, s[1:]
		}
	}
	return lines
}

func TestPartsOfAWholeAreOneRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w buffer
		d := live.New(&w, false, 80)
		for i := range 12 { // a part a second, each with a line of its own when it is done
			s := selling(i, 0)
			s.Part, s.Lock = fmt.Sprintf("%d/12", i), fmt.Sprintf("lock-%d", i)
			d.Update(s)
			time.Sleep(time.Second)
			d.Done(s.Lock + " is done")
		}
		synctest.Wait()
		out := w.String()
		assert.Equal(t, 12, strings.Count(out, " is done\n"))
		assert.Equal(t, 2, strings.Count(out, "  selling  "), "one every five seconds, whichever part is on")
		assert.Contains(t, out, "/12  ttl-expiry  lock-")
		d.Close()
	})
}
