package safe

import (
	"context"
	"errors"
	"sync"
)

var errClosed = errors.New("the locker is closed")

// life ends what a locker has begun when the locker is closed, and waits for it.
type life struct {
	ctx    context.Context // ends with errClosed as its cause
	cancel context.CancelCauseFunc

	mu     sync.Mutex // orders enter before end, or after it
	closed bool
	wg     sync.WaitGroup
}

func newLife() *life {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &life{ctx: ctx, cancel: cancel}
}

// enter begins something that end waits for; false when it is too late. Only
// between enter and leave may more be started with l.wg.
func (l *life) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.wg.Add(1)
	}
	return !l.closed
}

func (l *life) leave() { l.wg.Done() }

// bind returns a ctx that also ends when l does.
func (l *life) bind(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.ctx, func() { cancel(errClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

func (l *life) end() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.cancel(errClosed)
	l.wg.Wait()
}
