package child

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// stopped reports whether a child is stopped as a whole: while one thread is
// still on its way, it isn't. The state in /proc would tell of one thread only.
func stopped(pid int) (bool, error) {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WNOHANG|unix.WNOWAIT, nil)
	if err != nil {
		return false, fmt.Errorf("look whether pid %d is stopped: %w", pid, err)
	}
	return info.Signo != 0, nil
}
