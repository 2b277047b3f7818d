package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/internal/child"
)

// node is one server process. It implements cluster.Node, cluster.Killer and
// cluster.Pauser.
type node struct {
	name    string
	role    cluster.Role
	bin     binary
	dir     string // its own folder
	log     string // its log file
	keptLog string // where the log goes in the end, "" for nowhere
	port    int    // set by start, then fixed
	release func() // gives the port back

	mu     sync.Mutex     // one act on the process at a time
	proc   *child.Process // the newest, nil before the first start
	before int64          // bytes in the log when the newest process started
	closed bool
}

func (n *node) Name() string       { return n.name }
func (n *node) Role() cluster.Role { return n.role }
func (n *node) Version() string    { return n.bin.String() }

// Announced is the same as Addr: all servers and clients share the loopback.
func (n *node) Announced() string { return n.Addr() }

func (n *node) Addr() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(n.port))
}

func (n *node) Dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", n.Addr())
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", n.name, err)
	}
	return conn, nil
}

// Logs reads the server's log file, which also has what was printed before a
// restart.
func (n *node) Logs(_ context.Context, lines int) ([]string, error) {
	return tail(n.log, 0, lines)
}

// Kill sends SIGKILL and waits until the process is gone. It wraps
// os.ErrProcessDone when the process was gone before.
func (n *node) Kill(ctx context.Context) (how string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.started(); err != nil {
		return "", fmt.Errorf("kill %s: %w", n.name, err)
	}
	if how, err = n.proc.Kill(ctx); err != nil {
		return how, fmt.Errorf("kill %s: %w", n.name, err)
	}
	return how, nil
}

// Restart starts the server again on its port, with the configuration that it
// or the sentinels last wrote, and no data.
func (n *node) Restart(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.started(); err != nil {
		return fmt.Errorf("restart %s: %w", n.name, err)
	}
	select {
	case <-n.proc.Done():
	default:
		return fmt.Errorf("restart %s: pid %d still runs", n.name, n.proc.PID())
	}
	if err := n.launch(ctx); err != nil {
		return fmt.Errorf("restart %s: %w", n.name, err)
	}
	return nil
}

// Pause sends SIGSTOP and returns once the server stands still. Connections to
// it can still be opened; nothing answers on them.
func (n *node) Pause(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	err := n.started()
	if err == nil {
		err = n.proc.Pause(ctx)
	}
	if err != nil {
		return fmt.Errorf("pause %s: %w", n.name, err)
	}
	return nil
}

// Resume sends SIGCONT and returns once the server runs again.
func (n *node) Resume(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	err := n.started()
	if err == nil {
		err = n.proc.Resume(ctx)
	}
	if err != nil {
		return fmt.Errorf("resume %s: %w", n.name, err)
	}
	return nil
}

// started returns nil when there is a process to act on, running or not.
// The caller holds mu.
func (n *node) started() error {
	if n.closed {
		return errors.New("its cluster is closed")
	}
	if n.proc == nil {
		return errors.New("it was never started")
	}
	return nil
}

// close ends the process for good and gives its port back.
func (n *node) close(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	defer n.release()
	if n.proc == nil {
		return nil
	}
	return n.end(ctx)
}
