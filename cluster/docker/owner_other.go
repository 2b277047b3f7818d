//go:build !linux

package docker

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// startOf returns when a process started, as ps prints it. Its error is
// os.ErrNotExist when there is no such process.
func startOf(pid int) (string, error) {
	out, err := exec.Command("ps", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(strings.TrimSpace(string(out))) == 0 {
		return "", os.ErrNotExist
	}
	if err != nil {
		return "", err
	}
	return strings.Join(strings.Fields(string(out)), " "), nil
}

// hostIdentity names the machine. A start time holds the date, so that a pid of
// before the last boot is told apart without naming the boot.
func hostIdentity() string {
	name, _ := os.Hostname()
	return name
}

func rebooted(_, _ string) bool { return false }
