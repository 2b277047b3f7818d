package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
	"github.com/oversell/oversell/internal/child"
	"github.com/oversell/oversell/internal/hint"
)

const (
	// answerTimeout bounds how long a started server may take to answer.
	answerTimeout = 30 * time.Second
	// portAttempts bounds how often a port turns out to be taken.
	portAttempts = 10
	// shownLines is how much of a dead server's log its error shows.
	shownLines = 10

	configFile = "server.conf"
	usersFile  = "users.acl"
)

// errPortTaken says that somebody else listens on the port.
var errPortTaken = errors.New("the port is taken")

// start starts the server for the first time, on a port that it finds free.
func (n *node) start(ctx context.Context, master int) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var err error
	for range portAttempts {
		if err = n.configure(master); err != nil {
			break
		}
		if err = n.launch(ctx); !errors.Is(err, errPortTaken) {
			break
		}
		n.release()
		n.release = func() {}
	}
	if err != nil {
		return fmt.Errorf("start %s: %w", n.name, err)
	}
	return nil
}

// configure reserves a port and writes the configuration for it.
func (n *node) configure(master int) error {
	port, release, err := reservePort()
	if err != nil {
		return err
	}
	n.port, n.release = port, release
	if err := os.MkdirAll(n.dir, 0o700); err != nil {
		return fmt.Errorf("make its folder: %w", err)
	}
	users := filepath.Join(n.dir, usersFile)
	config := serverConfig(port, n.dir, users, master)
	if n.role == cluster.RoleSentinel {
		config = sentinelConfig(port, n.dir, master)
	} else if err := os.WriteFile(users, nil, 0o600); err != nil {
		return fmt.Errorf("write its list of users: %w", err)
	}
	if err := os.WriteFile(filepath.Join(n.dir, configFile), []byte(config), 0o600); err != nil {
		return fmt.Errorf("write its configuration: %w", err)
	}
	return nil
}

// launch starts the process and returns once it answers. After an error no
// process is left. The caller holds mu.
func (n *node) launch(ctx context.Context) error {
	log, err := os.OpenFile(n.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open its log: %w", err)
	}
	defer log.Close()
	if n.before, err = log.Seek(0, io.SeekEnd); err != nil {
		return fmt.Errorf("open its log: %w", err)
	}
	args := []string{filepath.Join(n.dir, configFile)}
	if n.role == cluster.RoleSentinel {
		args = append(args, "--sentinel")
	}
	cmd := exec.Command(n.bin.path, args...)
	cmd.Dir = n.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C") // a locale that doesn't exist here would end the server
	cmd.Stdout, cmd.Stderr = log, log
	p, err := child.Start(cmd)
	if err != nil {
		return err
	}
	n.proc = p
	if err := n.awaitAnswer(ctx, p); err != nil {
		return errors.Join(err, n.end(context.WithoutCancel(ctx)))
	}
	return nil
}

// end kills the process, unless it has ended by itself.
func (n *node) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	if _, err := n.proc.Kill(ctx); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// awaitAnswer returns once this very process answers, and does what is asked
// of it on start.
func (n *node) awaitAnswer(ctx context.Context, p *child.Process) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, fmt.Errorf("no answer within %s", answerTimeout))
	defer cancel()
	return redisnode.Until(ctx, func(ctx context.Context) error {
		select {
		case <-p.Done():
			return redisnode.GiveUp(n.died(p))
		default:
		}
		if err := redisnode.Ping(ctx, n); err != nil {
			return err
		}
		info, err := redisnode.GetInfo(ctx, n, "server")
		if err != nil {
			return err
		}
		if pid, _ := info.Int("process_id"); pid != int64(p.PID()) {
			return fmt.Errorf("pid %d answers on port %d instead of pid %d", pid, n.port, p.PID())
		}
		return n.hurry(ctx)
	})
}

// hurry makes a sentinel quicker where that is possible. The periods aren't
// part of its configuration, so every start begins with the default ones.
func (n *node) hurry(ctx context.Context) error {
	if n.role != cluster.RoleSentinel {
		return nil
	}
	if _, err := redisnode.Do(ctx, n, hurriedPeriods...); redisnode.Refused(err) {
		return nil // before 7.0; it only takes longer
	} else if err != nil {
		return err
	}
	_, err := redisnode.Do(ctx, n, "SENTINEL", "SET", cluster.MasterSet, "down-after-milliseconds", downAfterMS)
	return err
}

// died explains why a server that was just started is gone.
func (n *node) died(p *child.Process) error {
	lines, err := tail(n.log, n.before, shownLines)
	if err != nil {
		lines = []string{err.Error()}
	}
	for _, l := range lines {
		if strings.Contains(l, "Address already in use") {
			return fmt.Errorf("%w: %s", errPortTaken, l)
		}
	}
	if len(lines) == 0 {
		lines = []string{"(it printed nothing)"}
	}
	err = fmt.Errorf("%s ended right after its start (%s); its last lines:\n    %s",
		n.bin.path, p.How(), strings.Join(lines, "\n    "))
	if n.keptLog != "" {
		return hint.Wrap(err, "the whole log is in %s", n.keptLog)
	}
	return hint.Wrap(err, "see whether `%s --port 0` starts by itself", n.bin.path)
}
