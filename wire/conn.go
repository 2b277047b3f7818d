package wire

import (
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// conn relays between one connection of an instance and one to a server. One
// goroutine carries commands, one carries replies.
type conn struct {
	wire     *Wire
	id       int64
	instance int
	server   string
	client   io.ReadWriteCloser
	upstream net.Conn // nil for a connection that was made into a cut
	session  session

	blocked atomic.Bool // there is a cut, or something was lost

	mu     sync.Mutex
	cuts   int  // how many cuts are on it
	lost   bool // something was lost: nothing passes any more
	closed bool
}

func (c *conn) String() string {
	return fmt.Sprintf("connection %d of instance %d to %s", c.id, c.instance, c.server)
}

// attach gives the connection its other side, unless it has been closed.
func (c *conn) attach(upstream net.Conn) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		upstream.Close()
		return net.ErrClosed
	}
	c.upstream = upstream
	return nil
}

// close closes both sides. What was written to them before gets through.
func (c *conn) close() (wasOpen bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wasOpen = !c.closed
	c.closeLocked()
	return wasOpen
}

func (c *conn) closeLocked() {
	if c.closed {
		return
	}
	c.closed = true
	c.client.Close()
	if c.upstream != nil {
		c.upstream.Close()
	}
}

// abort closes both sides, and doesn't wait for a client that doesn't read.
func (c *conn) abort() {
	c.close()
	if s, ok := c.client.(*socket); ok {
		s.abort()
	}
}

// cut loses everything from now on.
func (c *conn) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cuts++
	c.blocked.Store(true)
}

// heal takes one cut away. After the last one a connection that lost something
// is closed, as its bytes don't fit together any more.
func (c *conn) heal() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cuts--
	if c.cuts > 0 {
		return
	}
	if c.lost {
		c.closeLocked()
		return
	}
	c.blocked.Store(false)
}

// lose lets nothing pass any more.
func (c *conn) lose() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = true
	c.blocked.Store(true)
}

// passes reports whether bytes get through. Where they don't, they are lost
// for good, and all that follow them.
func (c *conn) passes() bool {
	if !c.blocked.Load() {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cuts > 0 {
		c.lost = true
	}
	return !c.lost
}

// run carries bytes until both sides are closed.
func (c *conn) run() {
	defer c.close()
	if c.upstream == nil {
		c.swallow(c.client)
		return
	}
	var replies sync.WaitGroup
	replies.Go(c.carryReplies)
	c.carryCommands()
	replies.Wait()
	for _, p := range c.session.rest() {
		c.tellLost(p)
	}
}

// tellLost tells the handlers that no reply to p will come. After the end of
// the wire nobody is there to be told.
func (c *conn) tellLost(p *pending) {
	if p.asked || p.swallow || c.wire.ctx.Err() != nil {
		return
	}
	p.asked = true
	c.wire.ask(OnLost, &p.Exchange)
}
