package child_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/oversell/oversell/internal/child"
)

// The death signal belongs to the thread that created the child. A child must
// survive the end of the thread on which Start was called.
func TestAChildOutlivesTheThreadThatAskedForIt(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	defer in.Close()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	defer out.Close()

	tid := make(chan int, 1)
	go func() {
		// Left locked on purpose: the thread ends with this goroutine.
		runtime.LockOSThread()
		_, err := child.Start(cmd)
		assert.NoError(t, err)
		tid <- unix.Gettid()
	}()
	thread := fmt.Sprintf("/proc/self/task/%d", <-tid)
	if thread != fmt.Sprintf("/proc/self/task/%d", os.Getpid()) { // the first thread never ends
		require.Eventually(t, func() bool {
			_, err := os.Stat(thread)
			return os.IsNotExist(err)
		}, 30*time.Second, time.Millisecond)
	}

	_, err = io.WriteString(in, "still there\n")
	require.NoError(t, err)
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "still there\n", line)
	require.NoError(t, in.Close()) // ends cat
}
