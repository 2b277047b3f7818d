//go:build unix && (!linux || child_watchdog)

package child

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
)

// watched becomes the command it is given, after leaving a watchdog behind in
// its process group. The watchdog reads from a pipe whose other end only the
// parent has: a line means that all is over, the end of the pipe that the
// parent has died. It then kills its own process group, whose id can't have
// been given to others as long as the watchdog is a member. It is forked twice,
// so that the command doesn't find itself with a child it knows nothing of.
const watched = `( (read -r over <&%[1]d && exit 0; kill -KILL 0) & ) </dev/null >/dev/null 2>&1; exec "$0" "$@" %[1]d<&-`

// maxExtraFiles keeps the pipe's descriptor at one digit: a plain sh can't
// name larger ones.
const maxExtraFiles = 6

// start is for systems that have no death signal. (On Linux, the build tag
// child_watchdog chooses it, to try it out.)
func start(cmd *exec.Cmd) (release func(), err error) {
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	if _, err := exec.LookPath(cmd.Path); err != nil {
		return nil, err // otherwise only the shell would notice
	}
	if len(cmd.ExtraFiles) > maxExtraFiles {
		return nil, fmt.Errorf("child: more than %d extra files", maxExtraFiles)
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		return nil, fmt.Errorf("child: find a shell to watch over the process: %w", err)
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("child: make the watchdog's pipe: %w", err)
	}
	defer theirs.Close()
	script := fmt.Sprintf(watched, 3+len(cmd.ExtraFiles))
	cmd.ExtraFiles = append(cmd.ExtraFiles[:len(cmd.ExtraFiles):len(cmd.ExtraFiles)], theirs)
	args := cmd.Args
	if len(args) > 0 {
		args = args[1:]
	}
	cmd.Args = append([]string{"sh", "-c", script, cmd.Path}, args...)
	cmd.Path = sh
	if err := cmd.Start(); err != nil {
		ours.Close()
		return nil, err
	}
	return func() {
		// A failure means that the watchdog is gone already, as it should be.
		_, _ = ours.WriteString("over " + strconv.Itoa(cmd.Process.Pid) + "\n")
		ours.Close()
	}, nil
}
