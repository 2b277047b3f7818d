package instance

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"

	"github.com/oversell/oversell/internal/child"
)

// process is an instance in an OS process of its own.
type process struct {
	child   *child.Process
	endedCh chan struct{}
	stderr  *head
}

// StartProcess starts an instance as a process that runs command, which is
// this program with the arguments that make it call Main. It dies with this
// process. Stop it.
func StartProcess(s Start, command []string, desk Desk) (*Host, error) {
	cmd := exec.Command(command[0], command[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start instance %d: %w", s.Instance, err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start instance %d: %w", s.Instance, err)
	}
	complaints, err := cmd.StderrPipe()
	if err != nil {
		return nil, fmt.Errorf("start instance %d: %w", s.Instance, err)
	}
	c, err := child.Start(cmd)
	if err != nil {
		return nil, fmt.Errorf("start instance %d: %w", s.Instance, err)
	}
	b := &process{child: c, endedCh: make(chan struct{}), stderr: &head{}}
	h := newHost(s.Instance, desk, in)
	h.body = b
	var complained sync.WaitGroup
	complained.Go(func() { _, _ = io.Copy(b.stderr, complaints) })
	go func() {
		h.listen(out)
		<-c.Done()
		_ = out.Close()
		complained.Wait() // how it ended is told with what it has said of it
		_ = complaints.Close()
		close(b.endedCh)
	}()
	h.send(message{Type: msgStart, Start: &s})
	return h, nil
}

func (b *process) kill(ctx context.Context) (string, error) {
	how, err := b.child.Kill(ctx)
	if err != nil {
		return "", err
	}
	select {
	case <-b.endedCh: // everything it had said is heard
		return how, nil
	case <-ctx.Done():
		return "", fmt.Errorf("wait for the last output of an instance: %w", ctx.Err())
	}
}

func (b *process) pause(ctx context.Context) error  { return b.child.Pause(ctx) }
func (b *process) resume(ctx context.Context) error { return b.child.Resume(ctx) }

func (b *process) ended() <-chan struct{} { return b.endedCh }

func (b *process) how() string {
	if text := b.stderr.String(); text != "" {
		return b.child.How() + ": " + text
	}
	return b.child.How()
}

func (b *process) real() bool { return true }
func (b *process) pid() int   { return b.child.PID() }

// headSize is how much of what an instance prints is kept, in bytes: enough
// for the beginning of a panic.
const headSize = 4 << 10

// head keeps the first bytes written to it.
type head struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (t *head) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := headSize - t.buf.Len(); room > 0 {
		t.buf.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (t *head) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.buf.Bytes()))
}

// Self is the command line that runs this program with args.
func Self(args ...string) ([]string, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program's own file: %w", err)
	}
	return append([]string{exe}, args...), nil
}
