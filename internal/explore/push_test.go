package explore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/embedded"
	"github.com/oversell/oversell/locks"
)

// listener is a lock that doesn't ask again before a server tells it of a change.
type listener struct {
	clients locks.Clients
	looks   bool // has the server remember that it has read the key before it asks
	conn    net.Conn
	replies chan string
	changes chan struct{}
	reading sync.WaitGroup
}

// listening is its kind.
func listening(name string, looks bool) locks.Kind {
	return locks.Kind{
		Name: name, Topologies: []cluster.Shape{cluster.Single},
		New: func(_ context.Context, c locks.Clients, _ locks.Options) (locks.Locker, error) {
			return &listener{clients: c, looks: looks}, nil
		},
	}
}

// connect makes a connection when there is none that works.
func (l *listener) connect(ctx context.Context) (err error) {
	if l.conn != nil {
		return nil
	}
	if l.conn, err = l.clients.Dial(ctx, "tcp", l.clients.Addrs[0]); err != nil {
		return err
	}
	l.replies, l.changes = make(chan string, 1), make(chan struct{}, 1)
	l.reading.Go(func() { read(l.conn, l.replies, l.changes) })
	for _, c := range []string{"HELLO 3", "CLIENT TRACKING ON NOLOOP"} {
		if r := l.ask(ctx, c); strings.HasPrefix(r, "-") {
			return errors.New(r)
		}
	}
	return nil
}

// read hands on what the server says, the first line of each.
func read(conn net.Conn, replies chan<- string, changes chan<- struct{}) {
	defer close(replies)
	in := bufio.NewReader(conn)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		switch {
		case strings.HasPrefix(line, ">"):
			for range 5 { // invalidate, and the key
				_, _ = in.ReadString('\n')
			}
			select {
			case changes <- struct{}{}:
			default:
			}
			continue
		case strings.HasPrefix(line, "$"):
			_, _ = in.ReadString('\n')
		case strings.HasPrefix(line, "%"): // HELLO's, whose last word is an empty list
			for more := line; err == nil && !strings.HasPrefix(more, "*0"); {
				more, err = in.ReadString('\n')
			}
		}
		replies <- line
	}
}

func (l *listener) ask(ctx context.Context, command string) string {
	args := strings.Fields(command)
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := io.WriteString(l.conn, b.String()); err == nil {
		select {
		case r, ok := <-l.replies:
			if ok {
				return r
			}
		case <-ctx.Done():
		}
	}
	l.hangUp()
	return "-no reply"
}

func (l *listener) hangUp() {
	if l.conn != nil {
		_ = l.conn.Close()
		l.reading.Wait()
		l.conn = nil
	}
}

func (l *listener) Acquire(ctx context.Context, key string, ttl time.Duration) (locks.Lease, error) {
	for {
		if err := l.connect(ctx); err != nil {
			return nil, fmt.Errorf("%w: %w", locks.ErrNotAcquired, err)
		}
		if l.looks && strings.HasPrefix(l.ask(ctx, "GET "+key), "-") {
			continue
		}
		switch r := l.ask(ctx, fmt.Sprintf("SET %s held NX PX %d", key, ttl.Milliseconds())); {
		case strings.HasPrefix(r, "+"):
			return held{l, key}, nil
		case !strings.HasPrefix(r, "_"):
			l.hangUp()
			return nil, fmt.Errorf("%w: %q", locks.ErrNotAcquired, r)
		}
		if !l.looks {
			// The key may have gone by now, of which nobody will tell.
			if strings.HasPrefix(l.ask(ctx, "GET "+key), "-") {
				continue
			}
		}
		select {
		case <-l.changes:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", locks.ErrNotAcquired, ctx.Err())
		}
	}
}

func (l *listener) Close() error {
	l.hangUp()
	return nil
}

type held struct {
	l   *listener
	key string
}

func (h held) Lost() <-chan struct{} { return nil }

func (h held) Release(ctx context.Context) error {
	if h.l.conn == nil {
		return locks.ErrUntold
	}
	if r := h.l.ask(ctx, "DEL "+h.key); !strings.HasPrefix(r, ":1") {
		return fmt.Errorf("%w: %q", locks.ErrNotHeld, r)
	}
	return nil
}

// A lock that has the server remember the key only after it was refused misses the
// change in between, and waits for ever.
func TestLostWakeUp(t *testing.T) {
	for name, looks := range map[string]bool{"looks-after": false, "looks-before": true} {
		c := two(t, listening(name, looks), "crash")
		c.Stock = 2
		var before Counts
		for _, cfg := range []Config{{}, {noCompose: true}, {noInfer: true}, {noTurns: true}, {noForget: true}} {
			r := explored(t, c, cfg)
			require.Truef(t, r.Complete, "%s: %s", name, r.Why)
			assert.Equal(t, !looks, r.Counts.Stalled > 0, name)
			assert.Zero(t, r.Counts.Oversold, name)
			if before.All == 0 {
				before = r.Counts
			}
			assert.Equal(t, before, r.Counts, name)
		}
	}
}

// The shortest way to oversell under an eviction is that its holder isn't told in
// time, and under an expiry that a rival is.
func TestPushesComeWhenTheyCome(t *testing.T) {
	heardBy := func(hazard string) (who []string) {
		r := explored(t, two(t, kind(t, "rueidislock"), hazard), Config{})
		x := r.Broke(Oversold)
		require.NotNil(t, x)
		for _, s := range x.Steps {
			if s.Command == hears {
				who = append(who, s.Buyer)
			}
		}
		return who
	}
	assert.Empty(t, heardBy("eviction"))
	assert.Equal(t, []string{"B"}, heardBy("expiry"))
}

// A ping that is sent while there is something unheard is answered behind it, and
// holds up nothing.
func TestWhatPassesWaitsBehindAPush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := newWorld(two(t, kind(t, "lua-release")))
		require.NoError(t, err)
		defer w.close()
		w.begin()
		b := w.buyers[0]
		c := w.dial(b, 0)
		said := func() string {
			w.mu.Lock()
			defer w.mu.Unlock()
			out := string(c.out)
			c.out = nil
			return out
		}
		send := func(command string) {
			_, err := c.Write([]byte(command))
			require.NoError(t, err)
		}
		send("*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n*3\r\n$6\r\nCLIENT\r\n$8\r\nTRACKING\r\n$2\r\nON\r\n")
		require.Contains(t, said(), "+OK")
		w.mu.Lock()
		b.conns[c] = struct{}{}
		b.told(c, 0, embedded.Push{Keys: []string{"k"}})
		w.mu.Unlock()
		send("*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n")
		require.Empty(t, said())
		push, get := b.pend[len(b.pend)-1], c.head
		require.NotNil(t, get)
		require.True(t, get.behind(b.pend))
		w.hearPush(b, push)
		require.Equal(t, ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n+PONG\r\n", said())
		require.False(t, get.behind(b.pend))
		require.NoError(t, c.Close())
		require.NoError(t, w.end())
	})
}

// Points in time are told by how far they are from the schedule's start.
func TestMoments(t *testing.T) {
	w := &world{c: Case{}.WithDefaults(), start: time.UnixMilli(946684800000)}
	for arg, want := range map[string]string{
		"946684802000": "@2s", "946684802001": "@2s", "946684801": "@1s", "946684800003": "@5ms",
		"2000": "2000", "1700000000000": "1700000000000", "94668480200x": "94668480200x",
	} {
		require.Equal(t, want, w.inWords(arg))
	}
	require.True(t, w.namesMoment([]string{"SET", "k", "v", "PXAT", "946684802000"}))
	require.False(t, w.isRandom("946684802000"))
}

// A few microseconds of pauses don't matter, though they make another millisecond
// of it, and another grain of that.
func TestMomentsOfTheSameGrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{c: Case{}.WithDefaults(), start: time.Now()}
		b := &buyer{w: w, moments: map[string]uint64{}}
		send := func() string {
			at := strconv.FormatInt(time.Now().Add(w.c.TTL).UnixMilli(), 10)
			b.noteMoments([]string{"k", "PXAT", at})
			return at
		}
		time.Sleep(3002*time.Millisecond + 995*time.Microsecond)
		one := send()
		time.Sleep(10 * time.Microsecond)
		other := send()
		require.NotEqual(t, one, other)
		require.Equal(t, b.inWords(one), b.inWords(other))
		time.Sleep(w.coarse())
		require.Equal(t, b.inWords(one), b.inWords(other), "it is what it was when it was sent")
	})
}
