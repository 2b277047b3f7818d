package pgserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/oversell/oversell/internal/child"
	"github.com/oversell/oversell/internal/folder"
	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/inventory"
)

const (
	// portAttempts bounds how often a port turns out to be taken.
	portAttempts = 10
	// startTimeout bounds one program's start, initdb's work included.
	startTimeout = time.Minute
	// shownLines is how much of a dead server's log its error shows.
	shownLines = 10
	// grace is how long a server that is told to end may take.
	grace = 5 * time.Second
)

// server is one PostgreSQL in its folder.
type server struct {
	programs programs
	runner   runner
	folder   *folder.Folder
	password string
	port     int
	proc     *child.Process
}

// startProcess makes a database in a temporary folder and starts its server.
func startProcess(ctx context.Context, run, password string) (*inventory.Place, error) {
	s := &server{password: password}
	err := s.prepare(ctx, run)
	if err == nil {
		err = s.launch(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.close(context.WithoutCancel(ctx)))
	}
	return &inventory.Place{
		Driver: inventory.Postgres,
		DSN:    fmt.Sprintf("postgres://%s:%s@127.0.0.1:%d/postgres?sslmode=disable", superuser, password, s.port),
		Lost:   s.proc.Done(), Why: s.died, OnClose: s.close,
	}, nil
}

// prepare finds the programs and lets initdb make the database.
func (s *server) prepare(ctx context.Context, run string) (err error) {
	if s.programs, err = find(ctx); err != nil {
		return err
	}
	if s.runner, err = newRunner(); err != nil {
		return err
	}
	if s.folder, err = folder.New(s.runner.base(), run, "postgres"); err != nil {
		return err
	}
	if err := s.makeFolders(); err != nil {
		return fmt.Errorf("prepare its folder: %w", err)
	}
	secret := s.path("password")
	if err := s.runner.writeFor(secret, s.password+"\n"); err != nil {
		return fmt.Errorf("prepare its password: %w", err)
	}
	defer os.Remove(secret)
	return s.initdb(ctx, secret)
}

// makeFolders opens the way into the runner's own folder. What else is in the
// outer one stays closed to it.
func (s *server) makeFolders() error {
	if s.runner.credential != nil {
		if err := os.Chmod(s.folder.Path, 0o711); err != nil {
			return err
		}
	}
	if err := os.Mkdir(s.path("home"), 0o700); err != nil {
		return err
	}
	return s.runner.own(s.path("home"))
}

func (s *server) path(name string) string { return filepath.Join(s.folder.Path, name) }
func (s *server) home() string            { return s.path("home") }
func (s *server) data() string            { return filepath.Join(s.home(), "data") }
func (s *server) log() string             { return s.path("postgres.log") }

func (s *server) initdb(ctx context.Context, secret string) error {
	cmd := s.runner.command(s.home(), s.programs.path("initdb"),
		"--pgdata="+s.data(), "--username="+superuser, "--pwfile="+secret, "--auth=scram-sha-256",
		"--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions")
	p, err := s.start(cmd, s.path("initdb.log"))
	if err != nil {
		return fmt.Errorf("make a database: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	how, err := p.Wait(ctx)
	if err != nil {
		s.kill(p)
		return fmt.Errorf("make a database: %w", err)
	}
	if _, err := os.Stat(filepath.Join(s.data(), "PG_VERSION")); err != nil || !strings.HasSuffix(how, "exit status 0") {
		return hint.Wrap(fmt.Errorf("make a database: initdb ended (%s); its last lines:\n    %s", how, s.tail("initdb.log")),
			"see whether `%s --pgdata=DIR` works by itself", s.programs.path("initdb"))
	}
	return nil
}

// start starts a program whose output goes to a file of ours.
func (s *server) start(cmd *exec.Cmd, log string) (*child.Process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	return child.Start(cmd)
}

// launch starts the server, on a port that it finds free. Whether it answers
// is for others to ask; that it lives on its port is certain.
func (s *server) launch(ctx context.Context) error {
	var err error
	for range portAttempts {
		if s.port, err = freePort(); err != nil {
			return err
		}
		cmd := s.runner.command(s.home(), s.programs.path("postgres"), s.settings()...)
		if s.proc, err = s.start(cmd, s.log()); err != nil {
			return err
		}
		if err = s.awaitListening(ctx); !errors.Is(err, errPortTaken) {
			return err
		}
		if err := os.Remove(s.log()); err != nil {
			return err
		}
	}
	return err
}

// errPortTaken says that somebody else was given the port meanwhile.
var errPortTaken = errors.New("the port is taken")

// awaitListening returns once this very server has its port: no port answers
// for somebody else from then on.
func (s *server) awaitListening(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not within %s", startTimeout))
	defer cancel()
	for {
		log, err := os.ReadFile(s.log())
		if err == nil && strings.Contains(string(log), "listening on IPv4") {
			return nil
		}
		select {
		case <-s.proc.Done():
			if log, _ := os.ReadFile(s.log()); strings.Contains(string(log), "Address already in use") {
				return errPortTaken
			}
			return s.died()
		case <-ctx.Done():
			return fmt.Errorf("wait until it listens: %w", context.Cause(ctx))
		case <-time.After(askEvery):
		}
	}
}

// settings make a server that is quick, small, and forgets when it dies.
func (s *server) settings() []string {
	args := []string{"-D", s.data()}
	for _, set := range []string{
		"listen_addresses=127.0.0.1", "port=" + strconv.Itoa(s.port), "unix_socket_directories=",
		"max_connections=500", "shared_buffers=32MB", "dynamic_shared_memory_type=mmap",
		"fsync=off", "synchronous_commit=off", "full_page_writes=off",
		"wal_level=minimal", "max_wal_senders=0", "autovacuum=off", "jit=off",
		"logging_collector=off", "log_destination=stderr", "log_min_messages=warning", "log_connections=off",
		"password_encryption=scram-sha-256",
	} {
		args = append(args, "-c", set)
	}
	return args
}

func freePort() (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// died says how the server ended, once it has.
func (s *server) died() error {
	<-s.proc.Done()
	return hint.Wrap(fmt.Errorf("PostgreSQL ended (%s); its last lines:\n    %s", s.proc.How(), s.tail("postgres.log")),
		"see the machine's memory and disk, and whether somebody ended it")
}

func (s *server) tail(log string) string {
	text, err := os.ReadFile(s.path(log))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if lines[0] == "" {
		return "(it printed nothing)"
	}
	return strings.Join(lines[max(0, len(lines)-shownLines):], "\n    ")
}

// close ends the server, without a care for its data, and removes the folder.
func (s *server) close(ctx context.Context) error {
	if s.proc != nil {
		s.quit(ctx)
	}
	if s.folder == nil {
		return nil
	}
	return s.removeFolder()
}

// quit lets the server end its own processes and give its shared memory back,
// which SIGKILL wouldn't.
func (s *server) quit(ctx context.Context) {
	if s.proc.Signal(syscall.SIGQUIT) != nil {
		return // it has ended
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if _, err := s.proc.Wait(ctx); err != nil {
		s.kill(s.proc)
	}
}

func (s *server) kill(p *child.Process) {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	_, _ = p.Kill(ctx) // that it had ended before is as good
}

// removeFolder bears with processes of a killed server, which notice its end
// and may write one more file.
func (s *server) removeFolder() error {
	var err error
	for deadline := time.Now().Add(grace); ; time.Sleep(askEvery) {
		if err = os.RemoveAll(s.home()); err == nil || time.Now().After(deadline) {
			break
		}
	}
	return errors.Join(err, s.folder.Remove())
}
