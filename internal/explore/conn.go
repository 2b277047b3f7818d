package explore

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/oversell/oversell/cluster/embedded"
)

// errOver is what connections say once a schedule has ended.
var errOver = errors.New("explore: the schedule has ended")

// tooLate answers what is sent then. Breaking the connection would do as well,
// but making a new one for the next schedule takes long.
var tooLate = []byte("-ERR " + errOver.Error() + "\r\n")

// conn is a buyer's connection to a simulated server. Writing never blocks, as
// into the buffer of a socket; each command then waits until the scheduler
// delivers it. Reading blocks until there is a reply.
type conn struct {
	w      *world
	b      *buyer
	server int
	sess   *embedded.Session
	nth    int // in the order in which connections were made

	// All below is guarded by w.mu.
	in      []byte
	queue   []*pending // commands behind the one that is pending
	owing   bool       // some of them won't be answered any more
	head    *pending   // the command that can be delivered
	await   *pending   // a command whose reply is held back
	first   [][]string // commands that are answered once the buyer has read everything
	unheard int        // pushes that the buyer hasn't read
	out     []byte
	ready   chan struct{}
	closed  bool  // by the buyer
	broken  error // by the world
	until   time.Time
	timer   *time.Timer
}

func (w *world) dial(b *buyer, server int) *conn {
	w.dialled++
	return &conn{nth: w.dialled, w: w, b: b, server: server, sess: w.servers[server].Session(), ready: make(chan struct{}, 1)}
}

func (c *conn) signal() {
	select {
	case c.ready <- struct{}{}:
	default:
	}
}

func (c *conn) Read(p []byte) (int, error) {
	for {
		c.w.mu.Lock()
		switch {
		case len(c.out) > 0:
			n := copy(p, c.out)
			c.out = c.out[:copy(c.out, c.out[n:])]
			c.w.mu.Unlock()
			return n, nil
		case c.closed:
			c.w.mu.Unlock()
			return 0, net.ErrClosed
		case c.broken != nil:
			err := c.broken
			c.w.mu.Unlock()
			return 0, err
		case !c.until.IsZero() && !time.Now().Before(c.until):
			c.w.mu.Unlock()
			return 0, os.ErrDeadlineExceeded
		}
		c.w.mu.Unlock()
		<-c.ready
	}
}

func (c *conn) Write(p []byte) (int, error) {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	if c.w.over {
		c.w.strays++
	}
	switch {
	case c.closed:
		return 0, net.ErrClosed
	case c.broken != nil:
		return 0, c.broken
	}
	c.in = append(c.in, p...)
	var batch [][]string // a transaction is delivered as one
	for {
		args, n, err := parseCommand(c.in, c.w.word)
		if err != nil {
			c.broken = err
			return 0, err
		}
		if n == 0 {
			return len(p), nil
		}
		c.in = c.in[:copy(c.in, c.in[n:])]
		c.b.noteMoments(args[1:])
		name := upper(args[0])
		switch {
		case len(batch) > 0 || name == "MULTI":
			batch = append(batch, args)
			if name == "EXEC" || name == "DISCARD" {
				c.enqueue(batch)
				batch = nil
			}
		case c.w.over && name == "MULTI":
			c.broken = errOver
			return 0, errOver
		case c.w.over:
			c.answer(tooLate)
		case name == "HELLO" && len(args) == 2 && args[1] == "3" && c.head == nil && c.await == nil:
			c.hello(args)
		case (c.b.starting || passes(name)) && c.head == nil && c.await == nil:
			c.setUp(args)
		default:
			c.enqueue([][]string{args})
		}
	}
}

func (c *conn) enqueue(batch [][]string) {
	p := &pending{kind: ofCommand, conn: c, server: c.server, batch: batch}
	if c.head != nil || c.await != nil {
		c.queue = append(c.queue, p)
		if c.sess.Tracks() {
			c.b.arrivals++ // it may be behind one that its buyer doesn't wait for
		}
		return
	}
	c.head = p
	c.b.arrive(p)
}

// next makes the next command of the connection deliverable.
func (c *conn) next() {
	c.head = nil
	for len(c.queue) > 0 && c.await == nil {
		p := c.queue[0]
		if !p.setsUp() {
			c.head, c.queue = p, c.queue[1:]
			c.b.arrive(p)
			return
		}
		c.queue = c.queue[1:]
		c.setUp(p.batch[0])
	}
}

// answer lets the buyer read a reply.
func (c *conn) answer(reply []byte) {
	c.out = append(c.out, reply...)
	c.signal()
}

// fail breaks the connection, as seen by the buyer.
func (c *conn) fail(err error) {
	c.broken = err
	c.queue = nil
	c.disconnect()
	c.signal()
}

// excuse answers what will never be executed with an error, so that the
// connection can be used again. It reports whether that could be done.
func (c *conn) excuse() bool {
	p := c.head
	if p == nil {
		p = c.await
	}
	if p == nil || len(p.batch) != 1 || len(c.queue) > 0 || c.owing || len(c.in) > 0 || c.closed || c.broken != nil {
		return false
	}
	c.head, c.await = nil, nil
	c.answer(tooLate)
	return true
}

// idle reports whether the connection is fit for the next schedule.
func (c *conn) idle() bool {
	return !c.closed && !c.owing && c.broken == nil && c.head == nil && c.await == nil && len(c.queue) == 0 && len(c.out) == 0 && len(c.in) == 0
}

// Close leaves a command that was sent on its way: the server may still get it.
func (c *conn) Close() error {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.closed = true
	if c.timer != nil {
		c.timer.Stop()
	}
	delete(c.b.conns, c)
	c.disconnect()
	if c.head != nil {
		c.b.giveUp(c.head)
	}
	c.signal()
	return nil
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	c.until = t
	if !t.IsZero() {
		// A context's deadline, as which the client sets this one, comes first: at
		// the same time it would be a matter of chance which is noticed.
		c.until = t.Add(time.Microsecond)
		c.timer = time.AfterFunc(time.Until(c.until), c.signal)
	}
	return nil
}

func (c *conn) SetWriteDeadline(time.Time) error { return nil }
func (c *conn) SetDeadline(t time.Time) error    { return c.SetReadDeadline(t) }
func (c *conn) LocalAddr() net.Addr              { return nowhere{} }
func (c *conn) RemoteAddr() net.Addr             { return nowhere{} }

type nowhere struct{}

func (nowhere) Network() string { return "explore" }
func (nowhere) String() string  { return "explore" }

var errProtocol = errors.New("explore: the client wrote something that is no command")

// word is a word of a command. Those that were sent while the world was learning,
// such as scripts, aren't made anew.
func (w *world) word(b []byte) string {
	if s, ok := w.usual[string(b)]; ok {
		return s
	}
	s := string(b)
	if w.learn && len(w.usual) < maxUsual {
		w.usual[s] = s
	}
	return s
}

const maxUsual = 1000

// parseCommand reads a command from the front of b: its words and its length,
// 0 when it isn't all there.
func parseCommand(b []byte, word func([]byte) string) ([]string, int, error) {
	n, at, ok := number(b, 0, '*')
	if !ok {
		if len(b) > 0 && b[0] != '*' {
			return nil, 0, errProtocol
		}
		return nil, 0, nil
	}
	if n < 1 {
		return nil, 0, errProtocol
	}
	args := make([]string, 0, n)
	for range n {
		size, from, ok := number(b, at, '$')
		if !ok || from+size+2 > len(b) {
			return nil, 0, nil
		}
		args = append(args, word(b[from:from+size]))
		at = from + size + 2
	}
	return args, at, nil
}

// number reads a line such as "$12\r\n" and returns where it ends.
func number(b []byte, at int, mark byte) (n, end int, ok bool) {
	if at >= len(b) || b[at] != mark {
		return 0, 0, false
	}
	i := bytes.IndexByte(b[at:], '\n')
	if i < 2 {
		return 0, 0, false
	}
	n, err := strconv.Atoi(string(b[at+1 : at+i-1]))
	return n, at + i + 1, err == nil
}

var errLost = io.EOF // what a client reads from a connection that broke
