package instance

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/internal/hint"
)

// Desk is where the engine hears from its instances. Both functions are called
// on goroutines of the instance's handle.
type Desk struct {
	// Event receives every event of an instance, in the order in which it
	// recorded them.
	Event func(history.Event)
	// Call is one business call; it returns when the call does. Calls run
	// concurrently, each on a goroutine of its own. ctx ends with the instance.
	Call func(ctx context.Context, c Call)
}

// Host is the engine's handle on one instance. Safe for concurrent use.
type Host struct {
	id   int
	desk Desk
	body body

	inMu sync.Mutex
	in   io.WriteCloser

	ctx    context.Context // ends with the instance
	cancel context.CancelFunc
	calls  sync.WaitGroup

	ready  chan struct{} // closed when the worker is ready, or never will be
	failed error         // why not; read after ready
	done   chan struct{} // closed when every buyer is done, or the instance has ended
	doneOnce,
	readyOnce sync.Once
}

// body is what an instance runs in: a process or a goroutine.
type body interface {
	kill(ctx context.Context) (how string, err error)
	ended() <-chan struct{} // closed when the body has ended and its output is closed
	how() string            // how it ended, once it has
	pause(ctx context.Context) error
	resume(ctx context.Context) error
	real() bool
	pid() int
}

func newHost(id int, desk Desk, in io.WriteCloser) *Host {
	h := &Host{id: id, desk: desk, in: in, ready: make(chan struct{}), done: make(chan struct{})}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// ID is the instance's number: 1, 2, ...
func (h *Host) ID() int { return h.id }

// Real reports whether the instance is an OS process.
func (h *Host) Real() bool { return h.body.real() }

// PID is the instance's process id; goroutines have that of this process.
func (h *Host) PID() int { return h.body.pid() }

// Kill ends the instance's process by SIGKILL and returns once it is gone.
func (h *Host) Kill(ctx context.Context) (how string, err error) {
	if !h.body.real() {
		return "", errNotReal
	}
	return h.body.kill(ctx)
}

// Pause freezes the instance's process, as by SIGSTOP, and returns once it
// stands still.
func (h *Host) Pause(ctx context.Context) error { return h.body.pause(ctx) }

// Resume lets a frozen process go on.
func (h *Host) Resume(ctx context.Context) error { return h.body.resume(ctx) }

// Cancel ends every purchase that is under way in the instance, as if its
// customer had gone. It doesn't wait.
func (h *Host) Cancel() { h.send(message{Type: msgCancel}) }

// Ready waits until the instance's servers answer and its buyers wait for Go.
func (h *Host) Ready(ctx context.Context) error {
	select {
	case <-h.ready:
		return h.failed
	case <-ctx.Done():
		return fmt.Errorf("wait for instance %d: %w", h.id, ctx.Err())
	}
}

// Go lets the buyers begin.
func (h *Host) Go() { h.send(message{Type: msgGo}) }

// Done is closed when every buyer is done, or the instance has ended.
func (h *Host) Done() <-chan struct{} { return h.done }

// Ended is closed when the instance has ended; How then says in which way.
func (h *Host) Ended() <-chan struct{} { return h.body.ended() }

// How says how the instance ended, once it has.
func (h *Host) How() string { return h.body.how() }

// Stop tells the instance to give up what is under way, and waits until it has
// ended. When ctx ends first it is killed.
func (h *Host) Stop(ctx context.Context) {
	h.send(message{Type: msgStop})
	select {
	case <-h.body.ended():
	case <-ctx.Done():
		_, _ = h.body.kill(context.WithoutCancel(ctx))
		<-h.body.ended()
	}
	h.inMu.Lock()
	_ = h.in.Close()
	h.inMu.Unlock()
	h.cancel()
	h.calls.Wait()
}

// send writes one message. A failure means that the instance is gone, which
// its body reports.
func (h *Host) send(m message) {
	line, err := json.Marshal(m)
	if err != nil {
		panic("instance: encode a message: " + err.Error()) // plain structs only
	}
	h.inMu.Lock()
	defer h.inMu.Unlock()
	_, _ = h.in.Write(append(line, '\n'))
}

// listen reads the worker's messages until its output ends.
func (h *Host) listen(out io.Reader) {
	dec := json.NewDecoder(bufio.NewReaderSize(out, 64<<10))
	for {
		var m message
		if err := dec.Decode(&m); err != nil {
			h.setReady(fmt.Errorf("instance %d ended before it was ready", h.id))
			h.setDone()
			h.cancel()
			return
		}
		h.hear(m)
	}
}

func (h *Host) hear(m message) {
	switch m.Type {
	case msgReady:
		h.setReady(nil)
	case msgFailed:
		err := errors.New(m.Err)
		if m.Hint != "" {
			err = hint.Wrap(err, "%s", m.Hint)
		}
		h.setReady(err)
	case msgDone:
		h.setDone()
	case msgEvent:
		if m.Event != nil {
			h.desk.Event(*m.Event)
		}
	case msgCall:
		c := Call{Instance: h.id, Buyer: m.Buyer, Purchase: m.Purchase, Token: m.Token, Units: m.Units, Commit: m.Commit}
		h.calls.Go(func() {
			h.desk.Call(h.ctx, c)
			h.send(message{Type: msgReturn, Purchase: c.Purchase})
		})
	}
}

func (h *Host) setReady(err error) {
	h.readyOnce.Do(func() {
		h.failed = err
		close(h.ready)
	})
}

func (h *Host) setDone() { h.doneOnce.Do(func() { close(h.done) }) }
