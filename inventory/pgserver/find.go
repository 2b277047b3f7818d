package pgserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oversell/oversell/internal/hint"
)

// programs are one version's initdb and postgres.
type programs struct {
	folder  string
	version string // "15.18"
}

func (p programs) String() string          { return fmt.Sprintf("PostgreSQL %s from %s", p.version, p.folder) }
func (p programs) path(name string) string { return filepath.Join(p.folder, name) }

// oldest is the first major version whose settings are the ones used here.
const oldest = 12

// elsewhere is where distributions put the programs when they aren't on PATH.
var elsewhere = []string{
	"/usr/lib/postgresql/*/bin",            // Debian, Ubuntu
	"/usr/pgsql-*/bin",                     // the project's own RPMs
	"/usr/libexec/postgresql*",             // Alpine
	"/opt/homebrew/opt/postgresql@*/bin",   // Homebrew
	"/usr/local/opt/postgresql@*/bin",      // Homebrew on Intel
	"/usr/local/pgsql/bin",                 // built from source
	"/Applications/Postgres.app/*/*/*/bin", // Postgres.app
}

// find returns the programs on PATH, or else the newest elsewhere.
func find(ctx context.Context) (programs, error) {
	var broken []error
	for _, folder := range folders() {
		if name, err := present(folder); err != nil {
			if name != "initdb" { // one is there: somebody should know that the other isn't
				broken = append(broken, err)
			}
			continue
		}
		version, err := identify(ctx, filepath.Join(folder, "postgres"))
		if err != nil {
			broken = append(broken, err)
			continue
		}
		return programs{folder: folder, version: version}, nil
	}
	if ctx.Err() != nil {
		return programs{}, fmt.Errorf("look for PostgreSQL: %w", ctx.Err())
	}
	err := errors.New("PostgreSQL isn't installed: neither on PATH nor where distributions put it are initdb and postgres")
	if len(broken) > 0 {
		err = fmt.Errorf("no PostgreSQL can be used: %w", errors.Join(broken...))
	}
	return programs{}, hint.Wrap(err, "%s, or name a database with --inventory-url", howToInstall())
}

// folders lists where programs may be, best first.
func folders() []string {
	var list []string
	if path, err := exec.LookPath("initdb"); err == nil {
		// Programs find their own files by where they really are.
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		list = append(list, filepath.Dir(path))
	}
	var more []string
	for _, pattern := range elsewhere {
		found, _ := filepath.Glob(pattern) // only a bad pattern is an error
		more = append(more, found...)
	}
	slices.SortStableFunc(more, func(a, b string) int { return cmp.Compare(numberIn(b), numberIn(a)) })
	return append(list, more...)
}

var digits = regexp.MustCompile(`\d+`)

// numberIn is the version in a folder's name, 0 when there is none.
func numberIn(folder string) int {
	n, _ := strconv.Atoi(digits.FindString(folder))
	return n
}

// present returns the first program that isn't in the folder, if one isn't.
func present(folder string) (missing string, err error) {
	for _, name := range []string{"initdb", "postgres"} {
		info, err := os.Stat(filepath.Join(folder, name))
		if err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			return name, fmt.Errorf("there is no program %s in %s", name, folder)
		}
	}
	return "", nil
}

// banner matches "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)".
var banner = regexp.MustCompile(`\(PostgreSQL\) (\d+)(\S*)`)

// identifyTimeout bounds how long a program may take to tell its version.
const identifyTimeout = 5 * time.Second

func identify(ctx context.Context, path string) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, identifyTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		return "", fmt.Errorf("run %s --version: %w: %s", path, err, text)
	}
	m := banner.FindStringSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("%s --version tells no version: %s", path, text)
	}
	if major, _ := strconv.Atoi(m[1]); major < oldest {
		return "", fmt.Errorf("%s is version %s%s; at least %d is needed", path, m[1], m[2], oldest)
	}
	return m[1] + m[2], nil
}

// installers are the commands that install PostgreSQL, by the program that a
// system with that command has.
var installers = []struct{ has, command string }{
	{"apt-get", "apt-get install postgresql"},
	{"apk", "apk add postgresql"},
	{"dnf", "dnf install postgresql-server"},
	{"pacman", "pacman -S postgresql"},
	{"zypper", "zypper install postgresql-server"},
	{"brew", "brew install postgresql"},
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
	return "install the package postgresql of your system"
}
