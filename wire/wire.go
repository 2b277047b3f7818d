package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oversell/oversell/history"
)

// Handler is called at the points of every command, on the goroutine of that
// connection: while it runs, this command, and what follows it on its
// connection, stands still, and all other connections go on. It must return
// when ctx ends (the wire is closed). The Action says what happens next.
//
// At OnReply it gets the same Exchange as at OnCommand, with the reply. Pushes,
// published messages and lines of MONITOR pass unasked, and so do the further
// confirmations of a SUBSCRIBE with several channels.
//
// A command whose reply is lost has an OnLost instead of its OnReply: once, at
// the latest when its connection has ended, after everything else that was
// heard on that connection. The Action makes no difference then, and handlers
// that don't care ignore it. A command that never left the wire (dropped, cut,
// or lost in a cut), one that isn't answered (CLIENT REPLY OFF), and one that
// was under way when the wire itself was closed have neither.
type Handler func(ctx context.Context, p Point, x *Exchange) Action

// Action is what becomes of a command or a reply.
type Action int

const (
	// Pass lets it go on.
	Pass Action = iota
	// Drop loses it, and, as a lost TCP segment does, everything after it in
	// both directions of its connection. The connection stays open until a side closes it.
	Drop
	// Duplicate sends a command to the server twice and swallows the second
	// reply. At OnReply it is the same as Pass.
	Duplicate
	// Cut closes the connection at once, on both sides.
	Cut
)

// Upstream connects to the server behind the wire, as it is now.
type Upstream func(ctx context.Context) (net.Conn, error)

// dialTimeout bounds the connection to a server that doesn't answer, for
// instances that don't bound it themselves.
const dialTimeout = 10 * time.Second

// maxNotes bounds the errors that Err keeps.
const maxNotes = 8

// Wire is all relays of one run. Safe for concurrent use.
type Wire struct {
	clock    history.Clock
	handlers []Handler
	scripts  *scripts
	ctx      context.Context
	cancel   context.CancelFunc
	relays   sync.WaitGroup // accept loops and connections
	seq      atomic.Int64

	mu     sync.Mutex
	closed bool
	lastID int64
	ports  map[end]*port
	conns  map[*conn]struct{}
	cuts   map[*cut]struct{}
	notes  []error
}

type port struct {
	listener net.Listener
	up       atomic.Pointer[Upstream]
}

// New makes a wire. Handlers are asked in order, and the first Action other
// than Pass counts; handlers after it aren't asked.
func New(clock history.Clock, handlers ...Handler) *Wire {
	ctx, cancel := context.WithCancel(context.Background())
	return &Wire{
		clock:    clock,
		handlers: handlers,
		scripts:  newScripts(),
		ctx:      ctx,
		cancel:   cancel,
		ports:    map[end]*port{},
		conns:    map[*conn]struct{}{},
		cuts:     map[*cut]struct{}{},
	}
}

// Listen opens a loopback port on which instance reaches server, and returns
// its address. The port stays the same until Close, whatever becomes of the
// server: listening again for the same two only replaces up. A server that
// can't be reached closes the connection of the instance, as it would be refused.
func (w *Wire) Listen(instance int, server string, up Upstream) (addr string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return "", fmt.Errorf("listen for instance %d to %s: %w", instance, server, net.ErrClosed)
	}
	key := end{instance, server}
	p := w.ports[key]
	if p == nil {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", fmt.Errorf("listen for instance %d to %s: %w", instance, server, err)
		}
		p = &port{listener: l}
		w.ports[key] = p
		w.relays.Go(func() { w.accept(key, p) })
	}
	p.up.Store(&up)
	return p.listener.Addr().String(), nil
}

// accept takes connections until the port is closed.
func (w *Wire) accept(key end, p *port) {
	for {
		client, err := p.listener.Accept()
		switch {
		case err == nil:
			w.relays.Go(func() { w.relay(key, client, *p.up.Load()) })
		case errors.Is(err, net.ErrClosed):
			return
		default: // out of file descriptors: instances wait until some are free
			select {
			case <-time.After(10 * time.Millisecond):
			case <-w.ctx.Done():
				return
			}
		}
	}
}

// relay serves a connection that was accepted.
func (w *Wire) relay(key end, client net.Conn, up Upstream) {
	c, err := w.register(key, client)
	if err != nil {
		client.Close()
		return
	}
	defer w.forget(c)
	defer c.close()
	if w.connect(w.ctx, c, up) == nil {
		c.run()
	}
}

// Dial connects a goroutine of this process, as instance, to server without a
// socket. It fails as connecting to the server itself does. Either side may
// write without the other reading, as far as a socket's buffers would go.
func (w *Wire) Dial(ctx context.Context, instance int, server string, up Upstream) (net.Conn, error) {
	client, relay := newPipe()
	c, err := w.register(end{instance, server}, relay)
	if err == nil {
		if err = w.connect(ctx, c, up); err != nil {
			w.forget(c)
		}
	}
	if err != nil {
		relay.abort()
		relay.wait()
		return nil, fmt.Errorf("connect instance %d to %s: %w", instance, server, err)
	}
	go func() {
		defer w.forget(c)
		c.run()
		relay.wait()
	}()
	return client, nil
}

// connect reaches the server for c, unless c is cut off from it.
func (w *Wire) connect(ctx context.Context, c *conn, up Upstream) error {
	if !c.passes() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	defer context.AfterFunc(w.ctx, cancel)()
	upstream, err := up(ctx)
	if err != nil {
		return err
	}
	return c.attach(upstream)
}

// register makes a connection known, so that it can be cut and closed, and
// waited for.
func (w *Wire) register(key end, client io.ReadWriteCloser) (*conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, net.ErrClosed
	}
	w.relays.Add(1)
	w.lastID++
	c := &conn{wire: w, id: w.lastID, instance: key.instance, server: key.server, client: client}
	w.conns[c] = struct{}{}
	for x := range w.cuts {
		if x.covers(c) {
			c.cut()
		}
	}
	return c, nil
}

func (w *Wire) forget(c *conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.conns, c)
	w.relays.Done()
}

// ask lets the handlers decide.
func (w *Wire) ask(p Point, x *Exchange) Action {
	for _, h := range w.handlers {
		if a := h(w.ctx, p, x); a != Pass {
			return a
		}
	}
	return Pass
}

// note keeps an error for Err.
func (w *Wire) note(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.notes) < maxNotes {
		w.notes = append(w.notes, err)
	}
}

// Err returns why the wire couldn't read what passed on some connections, nil
// when it could read everything. Their bytes were carried on unread from there
// on, so that handlers haven't seen every command or reply.
func (w *Wire) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(w.notes...)
}

// Close closes every port and connection and waits for the relays to end. It
// always returns nil.
func (w *Wire) Close() error {
	w.cancel()
	w.mu.Lock()
	w.closed = true
	for _, p := range w.ports {
		p.listener.Close()
	}
	for c := range w.conns {
		c.abort()
	}
	w.mu.Unlock()
	w.relays.Wait()
	return nil
}
