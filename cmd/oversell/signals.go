package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// errInterrupted is the cause of a context that a signal has ended.
var errInterrupted = errors.New("a signal came")

// interruptible returns a context that the first SIGINT, SIGTERM or SIGHUP
// ends, with errInterrupted as its cause. A second one ends the program at
// once. say tells the person who sent it. Call stop when done.
func interruptible(parent context.Context, say func(format string, args ...any)) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	quit := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		select {
		case <-signals:
		case <-quit:
			return
		}
		say("interrupted: removing what was started; once more to leave at once")
		cancel(errInterrupted)
		select {
		case <-signals:
			os.Exit(exitInterrupted)
		case <-quit:
		}
	})
	var once sync.Once
	return ctx, func() {
		once.Do(func() {
			signal.Stop(signals)
			close(quit)
			done.Wait()
			cancel(nil)
		})
	}
}

// interrupted reports whether a signal has ended ctx.
func interrupted(ctx context.Context) bool {
	return errors.Is(context.Cause(ctx), errInterrupted)
}
