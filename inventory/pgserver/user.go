package pgserver

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/oversell/oversell/internal/hint"
)

// runner is the user that the programs run as: PostgreSQL refuses root.
type runner struct{ credential *syscall.Credential } // nil: this process's own

// unprivileged are the users that may take root's place, best first.
var unprivileged = []string{"postgres", "nobody"}

func newRunner() (runner, error) {
	if os.Geteuid() != 0 {
		return runner{}, nil
	}
	for _, name := range unprivileged {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uerr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gerr := strconv.ParseUint(u.Gid, 10, 32)
		if uerr != nil || gerr != nil || uid == 0 {
			continue
		}
		return runner{&syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}
	return runner{}, hint.Wrap(errors.New("PostgreSQL refuses to run as root, and there is no user postgres or nobody to run it"),
		"run oversell as another user, or name a database with --inventory-url")
}

// command makes a command of the runner's, with messages in English.
func (r runner) command(dir, path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC", "HOME="+dir)
	if r.credential != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: r.credential}
	}
	return cmd
}

// own gives a file or folder to the runner.
func (r runner) own(path string) error {
	if r.credential == nil {
		return nil
	}
	return os.Chown(path, int(r.credential.Uid), int(r.credential.Gid))
}

// base is a folder for temporary ones that the runner can get into: the usual
// one, unless that is closed to all but its owner.
func (r runner) base() string {
	usual := os.TempDir()
	if r.credential == nil || open(usual) {
		return usual
	}
	return "/tmp"
}

// open reports whether everybody can get into a folder.
func open(folder string) bool {
	folder, err := filepath.Abs(folder)
	if err == nil {
		folder, err = filepath.EvalSymlinks(folder)
	}
	for err == nil {
		var info os.FileInfo
		if info, err = os.Stat(folder); err != nil || info.Mode()&0o001 == 0 {
			return false
		}
		if folder == filepath.Dir(folder) {
			return true
		}
		folder = filepath.Dir(folder)
	}
	return false
}

// newPassword keeps the other users of this machine out of the server: its
// loopback port is theirs as well.
func newPassword() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// writeFor writes a file that only the runner can read.
func (r runner) writeFor(path, text string) error {
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	if err := r.own(path); err != nil {
		return fmt.Errorf("give %s to its user: %w", path, err)
	}
	return nil
}
