package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/oversell/oversell/internal/hint"
)

// programs are the servers looked for on PATH, in this order. Each of them is
// a sentinel too when told so.
var programs = []string{"redis-server", "valkey-server"}

// versionTimeout bounds how long a program may take to tell its version.
const versionTimeout = 5 * time.Second

// binary is a server program.
type binary struct {
	path   string
	family string // "Redis" or "Valkey"; not always what the file is called
	number string // "7.0.15"
}

func (b binary) String() string { return b.family + " " + b.number }

// is reports whether b is the version asked for: "7.0" is any Redis 7.0.x,
// "valkey-8.1" any Valkey 8.1.x, and "" is anything.
func (b binary) is(version string) bool {
	if version == "" {
		return true
	}
	family, number := "Redis", version
	if rest, ok := strings.CutPrefix(version, "valkey-"); ok {
		family, number = "Valkey", rest
	}
	return b.family == family && (b.number == number || strings.HasPrefix(b.number, number+"."))
}

// find returns the first program on PATH that is the version asked for.
func find(ctx context.Context, version string) (binary, error) {
	var seen []string
	var broken []error
	for _, name := range programs {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		b, err := identify(ctx, path)
		if err != nil {
			broken = append(broken, err)
			continue
		}
		if b.is(version) {
			return b, nil
		}
		seen = append(seen, fmt.Sprintf("%s (%s)", b, path))
	}
	switch {
	case ctx.Err() != nil:
		return binary{}, fmt.Errorf("look for a server program: %w", ctx.Err())
	case len(seen) > 0:
		return binary{}, hint.Wrap(fmt.Errorf("version %s was asked for, and on PATH there is %s", version, strings.Join(seen, " and ")),
			"put a server of version %s first on PATH, or ask for the one that is there", version)
	case len(broken) > 0:
		return binary{}, hint.Wrap(errors.Join(broken...), "%s", howToInstall())
	default:
		return binary{}, hint.Wrap(fmt.Errorf("neither %s is on PATH", strings.Join(programs, " nor ")), "%s", howToInstall())
	}
}

// banner matches "Redis server v=7.0.15 sha=..." and "Valkey server v=8.1.1 sha=...".
var banner = regexp.MustCompile(`(?m)^(Redis|Valkey) server v=(\d[^\s]*)`)

func identify(ctx context.Context, path string) (binary, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return binary{}, fmt.Errorf("run %s --version: %w: %s", path, err, strings.TrimSpace(string(out)))
	}
	m := banner.FindStringSubmatch(string(out))
	if m == nil {
		return binary{}, fmt.Errorf("%s --version tells no version: %s", path, strings.TrimSpace(string(out)))
	}
	return binary{path: path, family: m[1], number: m[2]}, nil
}

// installers are the commands that install a server, by the program that a
// system with that command has.
var installers = []struct{ has, command string }{
	{"apt-get", "apt-get install redis-server"},
	{"apk", "apk add redis"},
	{"dnf", "dnf install redis"},
	{"pacman", "pacman -S valkey"},
	{"zypper", "zypper install redis"},
	{"brew", "brew install redis"},
}

// howToInstall is a hint that fits this machine.
func howToInstall() string {
	for _, i := range installers {
		if _, err := exec.LookPath(i.has); err != nil {
			continue
		}
		if i.has != "brew" && os.Geteuid() != 0 {
			return "install it with: sudo " + i.command
		}
		return "install it with: " + i.command
	}
	return "install the package redis or valkey of your system"
}
