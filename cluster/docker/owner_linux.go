package docker

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// startOf returns when a process started, in clock ticks since boot. Its error
// is os.ErrNotExist when there is no such process, or only its zombie.
func startOf(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// The command's name, in parentheses, may hold spaces and parentheses itself.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const state, startTime = 0, 22 - 3 // proc(5) counts from 1, and state is its third
	if len(fields) <= startTime {
		return "", fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields)+2)
	}
	if fields[state] == "Z" || fields[state] == "X" {
		return "", os.ErrNotExist
	}
	return fields[startTime], nil
}

// hostIdentity names the machine, its boot, and the namespace of its process ids.
func hostIdentity() string {
	name, _ := os.Hostname()
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	pids, _ := os.Readlink("/proc/self/ns/pid")
	return strings.Join([]string{name, strings.TrimSpace(string(boot)), pids}, "/")
}

// rebooted reports whether other is this machine before its last boot.
func rebooted(other, me string) bool {
	o, m := strings.Split(other, "/"), strings.Split(me, "/")
	return len(o) == 3 && len(m) == 3 && o[0] == m[0] && o[1] != m[1] && o[1] != "" && m[1] != ""
}
