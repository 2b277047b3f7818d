package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"

	"github.com/oversell/oversell/internal/hint"
)

// guardVariable tells a process that it is the one to explore in.
const guardVariable = "OVERSELL_EXPLORING"

// guard re-executes this program with the same arguments, so that a lock that
// panics on a goroutine of its own ends that process and not this one, which
// then says what has happened. It is nil in the process to explore in.
func guard(a *app) func(context.Context) error {
	if a.env(guardVariable) != "" {
		return nil
	}
	return func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, a.worker[0], os.Args[1:]...)
		cmd.Args[0] = os.Args[0]
		cmd.Env = append(os.Environ(), guardVariable+"=1")
		last := &tail{w: a.err}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = a.in, a.out, last
		if f, ok := a.err.(*os.File); ok && a.errTTY {
			cmd.Stderr = io.Writer(f) // a terminal stays one
		}
		// Ctrl-C reaches the whole group: the signal is passed on once, by Cancel.
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		err := cmd.Run()
		var exit *exec.ExitError
		switch {
		case err == nil:
			return nil
		case !errors.As(err, &exit):
			return fmt.Errorf("explore in a process of its own: %w", err)
		case exit.ExitCode() < 0:
			return fmt.Errorf("the process that explored ended: %s", exit.ProcessState)
		}
		if why := last.panicked(); why != "" {
			return &codeError{exitInconclusive, hint.Wrap(fmt.Errorf("the lock panicked: %s", why), "the trace is above")}
		}
		return exitWith(exit.ExitCode())
	}
}

// tail passes on what is written and remembers a panic.
type tail struct {
	w    io.Writer
	kept bytes.Buffer
}

func (t *tail) Write(p []byte) (int, error) {
	if t.kept.Len() < 1<<20 {
		t.kept.Write(p)
	}
	return t.w.Write(p)
}

var panicLine = regexp.MustCompile(`(?m)^(?:panic|fatal error): (.*)$`)

func (t *tail) panicked() string {
	m := panicLine.FindStringSubmatch(t.kept.String())
	if m == nil {
		return ""
	}
	return strings.TrimSpace(m[1])
}
