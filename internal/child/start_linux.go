//go:build linux && !child_watchdog

package child

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// start lets the kernel kill the child when this process dies. The kernel
// sends the death signal when the thread that created the child ends, not the
// process, and Go ends threads as it likes. So every child is created on one
// thread, which lives as long as any of them.
func start(cmd *exec.Cmd) (release func(), err error) {
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	work := parent.hold()
	result := make(chan error)
	work <- func() { result <- cmd.Start() }
	if err := <-result; err != nil {
		parent.drop()
		return nil, err
	}
	return parent.drop, nil
}

// parent is the thread that creates all children.
var parent thread

// thread is an OS thread that is there while somebody holds it.
type thread struct {
	mu      sync.Mutex
	holders int
	work    chan func()
}

func (t *thread) hold() chan<- func() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.holders == 0 {
		t.work = make(chan func())
		go serve(t.work)
	}
	t.holders++
	return t.work
}

func (t *thread) drop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.holders--; t.holders == 0 {
		close(t.work)
	}
}

func serve(work <-chan func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for f := range work {
		f()
	}
}
