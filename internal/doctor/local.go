package doctor

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
)

// Limits is the check of what this machine can carry, with buyers as many as a
// scenario usually has.
func Limits(m Machine, instances, buyers int) Check {
	return Check{Name: "machine", Look: func(context.Context) []Line {
		text := fmt.Sprintf("%d CPUs, %s MB of memory free, %s open files a process",
			m.CPUs, number(m.MemoryMB), number(m.Files))
		most, why := m.Carries(buyers)
		if most < instances {
			return []Line{{Status: Warn, Text: text,
				Hint: fmt.Sprintf("a scenario usually has %d instances and %d buyers, and this machine carries %s", instances, buyers, why)}}
		}
		return []Line{{Status: OK, Text: text}}
	}}
}

func number(n int) string {
	if n == 0 {
		return "an unknown number of"
	}
	return fmt.Sprint(n)
}

// Binary is the check of a program on PATH that tells its version with --version.
func Binary(name, without string) Check {
	return Check{Name: name, Look: func(ctx context.Context) []Line {
		path, err := exec.LookPath(name)
		if err != nil {
			return []Line{{Status: No, Text: "not on PATH", Hint: without}}
		}
		out, err := exec.CommandContext(ctx, path, "--version").CombinedOutput()
		if err != nil {
			return []Line{{Status: No, Text: fmt.Sprintf("%s --version: %v", path, err), Hint: without}}
		}
		return []Line{{Status: OK, Text: fmt.Sprintf("%s: %s", path, versionIn(string(out)))}}
	}}
}

var versionWord = regexp.MustCompile(`\bv(?:ersion)?[= ]([0-9][^ \n]*)`)

// versionIn finds the version in what a program says of itself, such as
// "Redis server v=7.0.15 sha=00000000:0 ..."; else it is the first line.
func versionIn(said string) string {
	if m := versionWord.FindStringSubmatch(said); m != nil {
		return "version " + m[1]
	}
	first, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	return first
}

// Folder is the check of the folder in which runs are kept; try reports why it
// can't be written.
func Folder(dir string, try func(dir string) error) Check {
	return Check{Name: "run folder", Look: func(context.Context) []Line {
		if err := try(dir); err != nil {
			return []Line{{Status: No, Text: fmt.Sprintf("%s can't be written: %v", dir, err), Hint: "choose another one with --dir"}}
		}
		return []Line{{Status: OK, Text: dir + " can be written"}}
	}}
}
