package wire

import (
	"errors"
	"fmt"
	"io"
	"net"
)

// send writes b, or loses it. It reports whether the connection goes on.
func (c *conn) send(to io.Writer, b []byte) bool {
	if len(b) == 0 || !c.passes() {
		return true
	}
	_, err := to.Write(b)
	if err != nil {
		c.close()
	}
	return err == nil
}

// swallow reads and loses everything until from is closed.
func (c *conn) swallow(from io.Reader) { _, _ = io.Copy(io.Discard, from) }

// copyRaw carries bytes that aren't RESP.
func (c *conn) copyRaw(to io.Writer, from io.Reader) {
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		if !c.send(to, buf[:n]) || err != nil {
			return
		}
	}
}

// carryCommands runs until the client has nothing more to say.
func (c *conn) carryCommands() {
	defer c.clientEnded()
	r := newCommandReader(c.client)
	for {
		cmd, err := r.next()
		if err != nil {
			c.unreadable("commands", err)
			if c.send(c.upstream, r.rest()) && errors.Is(err, errFraming) {
				c.copyRaw(c.upstream, c.client)
			}
			return
		}
		if !c.passes() {
			c.swallow(c.client)
			return
		}
		if !c.command(cmd) {
			return
		}
	}
}

// clientEnded passes the end of the client's bytes on. A server may still have
// to answer what came before.
func (c *conn) clientEnded() {
	half, ok := c.upstream.(interface{ CloseWrite() error })
	if !ok || !c.passes() || half.CloseWrite() != nil {
		c.close()
	}
}

// command carries one command. It reports whether the connection goes on.
func (c *conn) command(cmd command) bool {
	if len(cmd.args) == 0 {
		return c.send(c.upstream, cmd.raw)
	}
	p := c.parse(cmd)
	answered := c.session.announce(p)
	action := c.wire.ask(OnCommand, &p.Exchange)
	switch action {
	case Cut:
		c.close()
		return false
	case Drop:
		c.lose()
		return true
	}
	if !c.passes() {
		return true // lost on its way while the handlers looked at it
	}
	p.Forwarded = c.wire.clock()
	if answered {
		c.session.expect(p)
	}
	if action != Duplicate {
		return c.send(c.upstream, cmd.raw)
	}
	if answered {
		c.session.expect(p.twin())
	}
	if !c.send(c.upstream, cmd.raw) {
		return false
	}
	return c.send(c.upstream, cmd.raw)
}

// twin is the second sending of a command, whose reply the instance must not see.
func (p *pending) twin() *pending {
	return &pending{Exchange: Exchange{Name: p.Name, Args: p.Args}, at: -1, swallow: true, confirm: p.confirm, left: p.left}
}

// parse describes a command.
func (c *conn) parse(cmd command) *pending {
	args := cmd.strings()
	name := upperName(cmd.args[0])
	purpose := c.wire.scripts.purposeOf(name, args)
	return &pending{purpose: purpose, Exchange: Exchange{
		Seq:      c.wire.seq.Add(1),
		Instance: c.instance,
		Server:   c.server,
		Conn:     c.id,
		Name:     name,
		Args:     args,
		Key:      firstKey(name, args),
		Value:    purpose.value,
		Role:     purpose.role,
		Parsed:   c.wire.clock(),
	}}
}

// carryReplies runs until the server has nothing more to say.
func (c *conn) carryReplies() {
	r := newFrameReader(c.upstream)
	for {
		piece, last, err := r.next()
		if err == nil {
			err = c.reply(r, piece, last)
		}
		if err != nil {
			c.unreadable("replies", err)
			if c.send(c.client, r.rest()) && errors.Is(err, errFraming) {
				c.copyRaw(c.client, c.upstream)
			}
			c.serverEnded()
			return
		}
	}
}

// serverEnded passes the end of the server's bytes on. Across a cut not even
// that gets through.
func (c *conn) serverEnded() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cuts > 0 {
		c.lost = true
		return
	}
	c.closeLocked()
}

// reply carries one frame, of which piece is the first piece. An error is one
// of the reader, or says that the connection is over.
func (c *conn) reply(r *frameReader, piece []byte, last bool) error {
	value := piece[min(r.scanner.topAt, int64(len(piece))):]
	if r.scanner.top == 0 {
		value = nil
	}
	forward := true
	if p := c.session.match(value); p != nil {
		forward = !p.swallow
		if err := c.askReply(p, value, r.scanner.size); err != nil {
			return err
		}
	}
	for {
		if forward && !c.send(c.client, piece) {
			return net.ErrClosed
		}
		if last {
			return nil
		}
		var err error
		if piece, last, err = r.next(); err != nil {
			return err
		}
	}
}

// askReply lets the handlers decide about the reply to p, if it gets through.
func (c *conn) askReply(p *pending, value []byte, size int64) error {
	if !c.passes() {
		c.tellLost(p)
	}
	if p.asked || p.swallow {
		return nil
	}
	p.asked = true
	p.Answered = c.wire.clock()
	p.Reply = readReply(value, size).judge(p.purpose.grant, p.at, value)
	switch c.wire.ask(OnReply, &p.Exchange) {
	case Cut:
		c.close()
		return net.ErrClosed
	case Drop:
		c.lose()
	}
	return nil
}

// unreadable keeps an error that means that the wire doesn't see any more what
// passes on this connection.
func (c *conn) unreadable(what string, err error) {
	if errors.Is(err, errFraming) {
		c.wire.note(fmt.Errorf("read %s on %s: %w", what, c, err))
	}
}
