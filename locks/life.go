package locks

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

var errClosed = errors.New("the locker is closed")

// Life ends what a locker has begun when the locker is closed, and waits for
// it. Make it with NewLife. Safe for concurrent use.
type Life struct {
	ctx    context.Context // ends with errClosed as its cause
	cancel context.CancelCauseFunc

	mu     sync.Mutex // orders Enter before End, or after it
	closed bool
	wg     sync.WaitGroup
}

// NewLife begins one.
func NewLife() *Life {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &Life{ctx: ctx, cancel: cancel}
}

// Context ends when the life does.
func (l *Life) Context() context.Context { return l.ctx }

// Enter begins something that End waits for; false when it is too late. Only
// between Enter and Leave may Go be called.
func (l *Life) Enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.wg.Add(1)
	}
	return !l.closed
}

// Leave ends what a successful Enter began.
func (l *Life) Leave() { l.wg.Done() }

// Go runs f in a goroutine that End waits for. What f has begun with Go is
// waited for as well.
func (l *Life) Go(f func()) { l.wg.Go(f) }

// Bind returns a ctx that also ends when l does.
func (l *Life) Bind(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.ctx, func() { cancel(errClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// End ends what has begun, and returns when it is over. It is safe to call
// more than once.
func (l *Life) End() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.cancel(errClosed)
	l.wg.Wait()
}

// Acquire runs acquire, with a ctx that ends when ctx or l does, between Enter
// and Leave. When l has ended, nothing is run: ErrNotAcquired.
func (l *Life) Acquire(ctx context.Context, key string, acquire func(context.Context) (Lease, error)) (Lease, error) {
	if !l.Enter() {
		return nil, fmt.Errorf("acquire %q: %w: %w", key, ErrNotAcquired, errClosed)
	}
	defer l.Leave()
	ctx, unbind := l.Bind(ctx)
	defer unbind()
	return acquire(ctx)
}
