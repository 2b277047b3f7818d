package instance

import (
	"context"
	"errors"
	"io"
	"os"
)

// errNotReal is why goroutines can't be killed or paused.
var errNotReal = errors.New("instance: goroutines of this process can be neither killed nor paused; that needs real processes (--backend docker or process)")

// local is an instance that lives in this process.
type local struct {
	cancel  context.CancelFunc
	endedCh chan struct{}
}

// StartLocal starts an instance as goroutines of this process; dial reaches
// its servers. Stop it.
func StartLocal(s Start, world World, dial Dialer, desk Desk) *Host {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	b := &local{cancel: cancel, endedCh: make(chan struct{})}
	h := newHost(s.Instance, desk, inW)
	h.body = b
	go func() {
		_ = serve(ctx, inR, outW, world, dial) // the engine hears of it as a message
		_ = inR.Close()
		_ = outW.Close()
	}()
	go func() {
		h.listen(outR)
		cancel()
		close(b.endedCh)
	}()
	h.send(message{Type: msgStart, Start: &s})
	return h
}

func (b *local) kill(context.Context) (string, error) {
	b.cancel()
	return b.how(), nil
}

func (b *local) pause(context.Context) error  { return errNotReal }
func (b *local) resume(context.Context) error { return errNotReal }
func (b *local) ended() <-chan struct{}       { return b.endedCh }
func (b *local) how() string                  { return "returned" }
func (b *local) real() bool                   { return false }
func (b *local) pid() int                     { return os.Getpid() }
