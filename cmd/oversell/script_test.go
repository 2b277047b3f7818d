package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/inventory"
	"github.com/oversell/oversell/inventory/pgserver"
)

// TestScripts runs testdata/script/*.txtar against the real program.
//
// Besides testscript's own commands there are
//
//	exits CODE PROGRAM ARG...   run a program that ends with that exit code
//	await PATTERN [TEXT]        wait until a file of that pattern (has TEXT in it) is there
//	signal NAME CODE PATTERN [TEXT] -- PROGRAM ARG...
//	                            run a program, await PATTERN, send it the signal, and check its exit
//	                            code, or that the signal has ended it; its output is in
//	                            signal.out, its pid in $PID
//	scrape FILE TO              get what is served at the URL in FILE's "metrics at URL"
//	empty DIR                   fail unless the folder has nothing in it, or isn't there
//
// $BIN is a PATH on which there is oversell and nothing else, $REPO the project's
// folder. The conditions
// [docker] and [process] hold when that backend can start servers, [postgres]
// when PostgreSQL is installed.
func TestScripts(t *testing.T) { runScripts(t, "testdata/script") }

// TestMainJob plays the main scenarios to their verdicts. It is a test of its
// own because locks that renew want the machine for themselves: scripts of one
// folder run side by side.
func TestMainJob(t *testing.T) { runScripts(t, "testdata/mainjob") }

func runScripts(t *testing.T, dir string) {
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			path, _, _ := strings.Cut(env.Getenv("PATH"), string(filepath.ListSeparator))
			env.Setenv("BIN", path)
			repo, err := filepath.Abs("../..")
			if err != nil {
				return err
			}
			env.Setenv("REPO", repo)
			// What is temporary lands where the script can see that it is gone.
			tmp := filepath.Join(env.WorkDir, "tmp")
			env.Setenv("TMPDIR", tmp)
			// PostgreSQL doesn't run as root: its user must get there, too.
			for _, dir := range []string{filepath.Dir(env.WorkDir), env.WorkDir} {
				if err := os.Chmod(dir, 0o711); err != nil {
					return err
				}
			}
			return os.MkdirAll(tmp, 0o755)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":  exits,
			"await":  await,
			"empty":  empty,
			"scrape": scrape,
			"signal": signalled,
		},
		Condition: func(cond string) (bool, error) { return backendThere(t, cond) },
	})
}

// backendThere reports whether a backend can be used. OVERSELL_REQUIRE names
// those that must not be missing.
func backendThere(t *testing.T, name string) (bool, error) {
	if name == inventory.Postgres {
		return postgresThere(t)
	}
	i := slices.IndexFunc(realBackends(), func(b cluster.Backend) bool { return b.Name() == name })
	if i < 0 {
		return false, errors.New("no such condition: " + name)
	}
	ctx, cancel := context.WithTimeout(t.Context(), probeOne)
	defer cancel()
	_, err := realBackends()[i].Probe(ctx, "")
	if err != nil && slices.Contains(strings.Split(os.Getenv("OVERSELL_REQUIRE"), ","), name) {
		return false, err
	}
	return err == nil, nil
}

// postgresThere reports whether PostgreSQL's programs are installed.
func postgresThere(t *testing.T) (bool, error) {
	_, err := pgserver.New(nil).Probe(t.Context())
	if err != nil && slices.Contains(strings.Split(os.Getenv("OVERSELL_REQUIRE"), ","), inventory.Postgres) {
		return false, err
	}
	return err == nil, nil
}

func realBackends() []cluster.Backend {
	a := &app{}
	a.join()
	return slices.DeleteFunc(a.backends, func(b cluster.Backend) bool { return !b.Real() })
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%s ended with exit code %d, not %d", strings.Join(args[1:], " "), got, want)
	}
}

func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: await PATTERN [TEXT]")
	}
	if !appears(ts, args) {
		ts.Fatalf("there is no %s", strings.Join(args, " with "))
	}
}

// appears waits until await's condition holds, for a minute at most.
func appears(ts *testscript.TestScript, args []string) bool {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		found, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		for _, path := range found {
			data, err := os.ReadFile(path)
			if len(args) == 1 || (err == nil && strings.Contains(string(data), args[1])) {
				return true
			}
		}
	}
	return false
}

func signalled(ts *testscript.TestScript, neg bool, args []string) {
	dash := slices.Index(args, "--")
	if neg || dash < 3 || dash > 4 || dash == len(args)-1 {
		ts.Fatalf("usage: signal NAME CODE PATTERN [TEXT] -- PROGRAM ARG...")
	}
	sig, code := unix.SignalNum("SIG"+args[0]), args[1]
	out, err := os.Create(ts.MkAbs("signal.out"))
	ts.Check(err)
	defer out.Close()
	path, err := exec.LookPath(args[dash+1])
	ts.Check(err)
	cmd := exec.Command(path, args[dash+2:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), out, out
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "DOCKER_HOST", "CI"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	ts.Check(cmd.Start())
	ts.Setenv("PID", strconv.Itoa(cmd.Process.Pid))
	seen := appears(ts, args[2:dash])
	ts.Check(cmd.Process.Signal(sig))
	stuck := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	err = cmd.Wait()
	if !stuck.Stop() {
		ts.Fatalf("it was still there a minute after the signal")
	}
	ts.Logf("%s", ts.ReadFile("signal.out"))
	if !seen {
		ts.Fatalf("there was no %s", strings.Join(args[2:dash], " with "))
	}
	if got := strconv.Itoa(cmd.ProcessState.ExitCode()); got != code {
		ts.Fatalf("it ended with %v, not with exit code %s", err, code)
	}
}

func empty(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: empty DIR")
	}
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		ts.Check(err)
	}
	for _, e := range entries {
		ts.Logf("left: %s", e.Name())
	}
	if len(entries) > 0 {
		ts.Fatalf("%s isn't empty", args[0])
	}
}

func scrape(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: scrape FILE TO")
	}
	_, rest, _ := strings.Cut(ts.ReadFile(args[0]), "metrics at ")
	url, _, _ := strings.Cut(rest, "\n")
	resp, err := http.Get(url)
	ts.Check(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), body, 0o644))
}

func TestEveryScriptIsFound(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, scripts)
}
