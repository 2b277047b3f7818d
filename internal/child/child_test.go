package child_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/oversell/oversell/internal/child"
)

// roleEnv makes this test binary play a part in a test instead of running tests.
const roleEnv = "CHILD_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleEnv) == "middleman" {
		middleman()
	}
	goleak.VerifyTestMain(m)
}

// middleman starts grandchildren that share its standard output, and waits to
// be killed.
func middleman() {
	for range 3 {
		cmd := exec.Command("sleep", "600")
		cmd.Stdout = os.Stdout
		p, err := child.Start(cmd)
		if err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		fmt.Println("started", p.PID())
	}
	select {}
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func start(t *testing.T, name string, args ...string) *child.Process {
	t.Helper()
	return startCmd(t, exec.Command(name, args...))
}

func startCmd(t *testing.T, cmd *exec.Cmd) *child.Process {
	t.Helper()
	p, err := child.Start(cmd)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, _ = p.Kill(context.Background())
		<-p.Done()
	})
	return p
}

func TestChildrenDieWithAParentThatIsKilled(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), roleEnv+"=middleman")
	cmd.Stdout = w
	p := startCmd(t, cmd)
	require.NoError(t, w.Close())

	require.NoError(t, r.SetReadDeadline(time.Now().Add(30*time.Second)))
	in := bufio.NewReader(r)
	for range 3 {
		line, err := in.ReadString('\n')
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(line, "started "), line)
	}
	_, err = p.Kill(deadline(t))
	require.NoError(t, err)

	rest, err := io.ReadAll(in) // ends when nobody has the pipe's other end any more
	require.NoError(t, err, "a grandchild outlived its parent")
	assert.Empty(t, rest)
}

func TestKillSaysHowItEnded(t *testing.T) {
	t.Parallel()
	p := start(t, "sleep", "600")
	assert.Empty(t, p.How(), "it still runs")
	how, err := p.Kill(deadline(t))
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprintf("pid %d: signal: killed", p.PID()), how)
	assert.Equal(t, how, p.How())

	again, err := p.Kill(deadline(t))
	require.ErrorIs(t, err, os.ErrProcessDone)
	assert.Equal(t, how, again)
	require.ErrorIs(t, p.Signal(syscall.SIGTERM), os.ErrProcessDone)
	require.ErrorIs(t, p.Pause(deadline(t)), os.ErrProcessDone)
	require.ErrorIs(t, p.Resume(deadline(t)), os.ErrProcessDone)
}

func TestExitIsSeenWithoutBeingAskedFor(t *testing.T) {
	t.Parallel()
	p := start(t, "sh", "-c", "exit 3")
	how, err := p.Wait(deadline(t))
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprintf("pid %d: exit status 3", p.PID()), how)
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p := start(t, "sleep", "600")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Wait(ctx)
	require.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, p.How())
}

func TestOutputCanBeReadToItsEndAfterTheExit(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sh", "-c", "echo first; echo last")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	defer out.Close()
	p := startCmd(t, cmd)
	_, err = p.Wait(deadline(t))
	require.NoError(t, err)
	all, err := io.ReadAll(out)
	require.NoError(t, err)
	assert.Equal(t, "first\nlast\n", string(all))
}

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	defer in.Close()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	cmd.Stdout = w
	p := startCmd(t, cmd)
	require.NoError(t, w.Close())

	for range 5 {
		require.NoError(t, p.Pause(deadline(t)))
		require.NoError(t, p.Pause(deadline(t)), "pausing what is paused changes nothing")
		_, err = io.WriteString(in, "hello\n")
		require.NoError(t, err)
		buf := make([]byte, 64)
		require.NoError(t, r.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
		_, err = r.Read(buf)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded, "a paused process can't answer")

		require.NoError(t, p.Resume(deadline(t)))
		require.NoError(t, r.SetReadDeadline(time.Now().Add(30*time.Second)))
		n, err := r.Read(buf)
		require.NoError(t, err)
		assert.Equal(t, "hello\n", string(buf[:n]))
	}
}

func TestAPausedProcessCanBeKilled(t *testing.T) {
	t.Parallel()
	p := start(t, "sleep", "600")
	require.NoError(t, p.Pause(deadline(t)))
	how, err := p.Kill(deadline(t))
	require.NoError(t, err)
	assert.Contains(t, how, "signal: killed")
}

func TestAChildLeadsItsOwnProcessGroup(t *testing.T) {
	t.Parallel()
	p := start(t, "sleep", "600")
	pgid, err := syscall.Getpgid(p.PID())
	require.NoError(t, err)
	assert.Equal(t, p.PID(), pgid)
}

func TestCommandsThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	_, err := child.Start(exec.Command("no-such-program-anywhere"))
	require.ErrorIs(t, err, exec.ErrNotFound)
	_, err = child.Start(exec.Command("/no/such/program"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = child.Start(exec.CommandContext(t.Context(), "sleep", "600"))
	require.ErrorContains(t, err, "context of its own")
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			var out bytes.Buffer
			r, w, err := os.Pipe()
			if !assert.NoError(t, err) {
				return
			}
			defer r.Close()
			cmd := exec.Command("echo", fmt.Sprint(i))
			cmd.Stdout = w
			p, err := child.Start(cmd)
			w.Close()
			if !assert.NoError(t, err) {
				return
			}
			_, err = io.Copy(&out, r)
			assert.NoError(t, err)
			how, err := p.Wait(deadline(t))
			assert.NoError(t, err)
			assert.Contains(t, how, "exit status 0")
			assert.Equal(t, fmt.Sprintln(i), out.String())
		})
	}
	wg.Wait()
}
