// Package child starts OS processes that end with this process, however it
// ends, and watches how they end. A child is its own process group, so that a
// terminal's Ctrl-C reaches only this process.
package child

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// stopPoll is how often a process is asked whether it has stopped or gone on.
const stopPoll = time.Millisecond

// Process is one started child. Safe for concurrent use. It is never signalled
// once it has been reaped, so a signal can't hit a stranger that was given the
// same pid.
type Process struct {
	cmd     *exec.Cmd
	release func() // what start held on to for the child
	done    chan struct{}
	how     string // read after done
}

// Start starts cmd, which must not have been started and must come from
// exec.Command, not exec.CommandContext. Its SysProcAttr may be set; process
// group and death signal are overwritten.
//
// The process is reaped as soon as it ends, whoever waits for it. The caller
// must not call cmd.Wait or cmd.Process.Wait. Pipes that were made with
// cmd.StdoutPipe and its likes stay open, so that output can be read to its
// end, and are the caller's to close. Other writers for output than files are
// filled in the background and may lag behind Done.
func Start(cmd *exec.Cmd) (*Process, error) {
	if cmd.Cancel != nil {
		return nil, errors.New("child: a command with a context of its own can't be started")
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.SysProcAttr.Pgid = 0
	release, err := start(cmd)
	if err != nil {
		return nil, err
	}
	p := &Process{cmd: cmd, release: release, done: make(chan struct{})}
	go p.reap()
	return p, nil
}

// reap waits for the process without closing its pipes, as cmd.Wait would.
func (p *Process) reap() {
	state, err := p.cmd.Process.Wait()
	if err != nil {
		p.how = fmt.Sprintf("pid %d: how it ended is unknown: %v", p.PID(), err)
	} else {
		p.how = fmt.Sprintf("pid %d: %s", p.PID(), state)
	}
	p.release()
	close(p.done)
}

// PID is the process's id, also after it has ended.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended and has been reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// How says how the process ended ("pid 4711: signal: killed"), or "" while it runs.
func (p *Process) How() string {
	select {
	case <-p.done:
		return p.how
	default:
		return ""
	}
}

// Wait blocks until the process has ended, and says how, or until ctx ends.
func (p *Process) Wait(ctx context.Context) (how string, err error) {
	select {
	case <-p.done:
		return p.how, nil
	case <-ctx.Done():
		return "", fmt.Errorf("wait for pid %d to end: %w", p.PID(), ctx.Err())
	}
}

// Signal sends sig. It wraps os.ErrProcessDone when the process has ended.
func (p *Process) Signal(sig os.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil {
		return fmt.Errorf("send %q to pid %d: %w", sig, p.PID(), err)
	}
	return nil
}

// Kill sends SIGKILL and returns once the process is gone, with how it ended.
// It wraps os.ErrProcessDone, and still says how, when it had ended before.
func (p *Process) Kill(ctx context.Context) (how string, err error) {
	if err := p.Signal(syscall.SIGKILL); err != nil {
		if errors.Is(err, os.ErrProcessDone) {
			<-p.done // the reaper has seen it; only its note is outstanding
		}
		return p.How(), err
	}
	return p.Wait(ctx)
}

// Pause sends SIGSTOP and returns once every thread of the process stands
// still. When ctx ends first the process may stop later.
func (p *Process) Pause(ctx context.Context) error {
	return p.setStopped(ctx, syscall.SIGSTOP, true)
}

// Resume sends SIGCONT and returns once the process runs again.
func (p *Process) Resume(ctx context.Context) error {
	return p.setStopped(ctx, syscall.SIGCONT, false)
}

func (p *Process) setStopped(ctx context.Context, sig syscall.Signal, want bool) error {
	if err := p.Signal(sig); err != nil {
		return err
	}
	tick := time.NewTicker(stopPoll)
	defer tick.Stop()
	for {
		is, err := stopped(p.PID())
		if err == nil && is == want {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("after %q: %w: %s", sig, os.ErrProcessDone, p.how)
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("wait for pid %d to follow %q: %w", p.PID(), sig, ctx.Err()), err)
		case <-tick.C:
		}
	}
}
