package doctor

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Machine is what bounds how many instances can run here. Zero means unknown,
// and bounds nothing.
type Machine struct {
	CPUs     int
	MemoryMB int // free for new processes
	Files    int // descriptors that one process may have open
}

// What instances take. An instance is a small Go process with one connection a
// buyer and a few more; the engine's wire holds both ends of each of them.
const (
	instanceMB      = 25
	spareSockets    = 8  // of each instance: watchdogs, sentinels, the inventory
	ownFiles        = 64 // of the engine: logs, histories, pipes
	instancesPerCPU = 64
)

// Look finds out what this machine has. GOMAXPROCS and the memory limit of the
// control group count where they are lower.
func Look() Machine {
	m := Machine{CPUs: runtime.GOMAXPROCS(0), MemoryMB: freeMemoryMB()}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		m.Files = int(min(limit.Cur, 1<<30))
	}
	return m
}

// Carries returns how many instances the machine carries with that many buyers
// over all of them, and in numbers what the bound is. Unknown limits don't
// bound; 0 means that there are too many buyers for any number of instances.
func (m Machine) Carries(buyers int) (most int, why string) {
	most, why = 1<<30, "no limit is known"
	bound := func(n int, text string, args ...any) {
		if n = max(n, 0); n < most {
			most, why = n, fmt.Sprintf("%d at most, as ", n)+fmt.Sprintf(text, args...)
		}
	}
	if m.CPUs > 0 {
		bound(m.CPUs*instancesPerCPU, "%d CPUs carry %d each", m.CPUs, instancesPerCPU)
	}
	if m.MemoryMB > 0 {
		bound(m.MemoryMB/instanceMB, "each takes about %d MB and %d MB are free", instanceMB, m.MemoryMB)
	}
	if m.Files > 0 {
		// The wire has two sockets for each connection of each instance:
		// 2 x (buyers + instances x spare) + own <= files.
		left := m.Files - ownFiles - 2*buyers
		bound(left/(2*spareSockets), "%d buyers need 2 descriptors each, every instance %d more, and a process may have %d open",
			buyers, 2*spareSockets, m.Files)
	}
	return most, why
}

// freeMemoryMB is the smaller of what the kernel calls available and what the
// control group leaves; 0 when neither is known.
func freeMemoryMB() int {
	free := 0
	if data, err := os.ReadFile("/proc/meminfo"); err == nil {
		free = availableMB(data)
	}
	limit, ok := readBytes("/sys/fs/cgroup/memory.max")
	if used, okUsed := readBytes("/sys/fs/cgroup/memory.current"); ok && okUsed {
		left := max(1, int((limit-used)>>20))
		if free == 0 || left < free {
			free = left
		}
	}
	return free
}

// availableMB reads MemAvailable out of /proc/meminfo.
func availableMB(meminfo []byte) int {
	for sc := bufio.NewScanner(bytes.NewReader(meminfo)); sc.Scan(); {
		rest, ok := strings.CutPrefix(sc.Text(), "MemAvailable:")
		if !ok {
			continue
		}
		fields := strings.Fields(rest)
		if len(fields) == 0 {
			return 0
		}
		kb, err := strconv.Atoi(fields[0])
		if err != nil {
			return 0
		}
		return kb / 1024
	}
	return 0
}

// readBytes reads a control group's number; "max" isn't one.
func readBytes(path string) (int64, bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	return n, err == nil
}
