package main

import (
	"context"
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// Signals go to the whole test process: nothing here runs in parallel.
func TestTheFirstSignalEndsTheContext(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	said := make(chan string, 1)
	ctx, stop := interruptible(context.Background(), func(format string, args ...any) { said <- fmt.Sprintf(format, args...) })
	defer stop()
	assert.False(t, interrupted(ctx))
	require.NoError(t, syscall.Kill(syscall.Getpid(), syscall.SIGTERM))
	<-ctx.Done()
	assert.True(t, interrupted(ctx))
	assert.Contains(t, <-said, "interrupted: ")
}

func TestStoppingIsNoInterruption(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	ctx, stop := interruptible(context.Background(), func(string, ...any) { t.Error("nothing was interrupted") })
	stop()
	stop()
	<-ctx.Done()
	assert.False(t, interrupted(ctx))
}
