//go:build unix && !linux

package child

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// stopped reports whether a child is stopped, as ps tells it: wait4 could tell
// too, but might reap the process while it looks.
func stopped(pid int) (bool, error) {
	out, err := exec.Command("ps", "-o", "state=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return false, fmt.Errorf("look whether pid %d is stopped: %w", pid, err)
	}
	return strings.HasPrefix(strings.TrimSpace(string(out)), "T"), nil
}
