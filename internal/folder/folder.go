// Package folder makes temporary folders that know whether the process that
// made them still lives, so that what a killed run left can be told from what
// a living one uses.
package folder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	prefix = "oversell-"
	// ownerFile holds the pid of the run that made the folder, for people, and
	// is locked while that run lives. The kernel gives the lock up when the run
	// dies, however it dies; a pid could belong to somebody else by then.
	ownerFile = "owner"
	// orphanAge is how old a folder without an owner must be: a run was killed
	// between making it and signing it, or is just about to sign it.
	orphanAge = time.Minute
)

// Folder is a temporary folder. Remove it.
type Folder struct {
	Path string
	lock *os.File
}

var unsafeInNames = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// New makes a folder for a part of a run, owned by this process. base is where:
// "" means os.TempDir, where Leftovers looks.
func New(base, run, name string) (*Folder, error) {
	if base == "" {
		base = os.TempDir()
	}
	words := unsafeInNames.ReplaceAllString(run+"-"+name, "-")
	path, err := os.MkdirTemp(base, prefix+words+"-*")
	if err != nil {
		return nil, fmt.Errorf("make a temporary folder: %w", err)
	}
	lock, err := sign(path)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return &Folder{Path: path, lock: lock}, nil
}

// sign locks the owner file before it gets its name, so that nobody ever sees
// it unlocked while its owner lives.
func sign(path string) (*os.File, error) {
	fresh := filepath.Join(path, ownerFile+".new")
	f, err := os.OpenFile(fresh, os.O_CREATE|os.O_RDWR|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("sign the temporary folder: %w", err)
	}
	err = flock(f)
	if err == nil {
		_, err = f.WriteString(strconv.Itoa(os.Getpid()) + "\n")
	}
	if err == nil {
		err = os.Rename(fresh, filepath.Join(path, ownerFile))
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("sign the temporary folder: %w", err)
	}
	return f, nil
}

// Remove deletes the folder with all that is in it.
func (f *Folder) Remove() error {
	err := os.RemoveAll(f.Path)
	f.lock.Close()
	if err != nil {
		return fmt.Errorf("remove the temporary folder: %w", err)
	}
	return nil
}

// flock fails at once with unix.EWOULDBLOCK when somebody else has the lock.
func flock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// Leftovers lists the temporary folders of this user's runs that died without
// removing them. The processes that they had started died with them.
func Leftovers(ctx context.Context) ([]string, error) {
	var found []string
	err := eachLeftover(ctx, func(path string) error {
		found = append(found, path)
		return nil
	})
	return found, err
}

// Clean removes the leftovers of dead runs and returns what it removed. What
// living runs are using, here or elsewhere, is left alone.
func Clean(ctx context.Context) (removed []string, err error) {
	err = eachLeftover(ctx, func(path string) error {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("remove what a dead run left: %w", err)
		}
		removed = append(removed, path)
		return nil
	})
	return removed, err
}

// eachLeftover calls f for every folder whose owner is dead, while holding its
// lock, and goes on after errors.
func eachLeftover(ctx context.Context, f func(path string) error) error {
	entries, err := os.ReadDir(os.TempDir())
	if err != nil {
		return fmt.Errorf("look for what dead runs left: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if ctx.Err() != nil {
			return errors.Join(append(errs, ctx.Err())...)
		}
		if !e.IsDir() || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		path := filepath.Join(os.TempDir(), e.Name())
		unlock, dead := ownerIsDead(path)
		if !dead {
			continue
		}
		errs = append(errs, f(path))
		unlock()
	}
	return errors.Join(errs...)
}

// ownerIsDead reports whether the folder is one of this user's whose run has
// ended. What can't be told counts as alive.
func ownerIsDead(path string) (unlock func(), dead bool) {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return nil, false
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return nil, false
	}
	f, err := os.OpenFile(filepath.Join(path, ownerFile), os.O_RDWR|unix.O_NOFOLLOW, 0)
	if errors.Is(err, os.ErrNotExist) {
		return func() {}, unsigned(path) && time.Since(info.ModTime()) > orphanAge
	}
	if err != nil {
		return nil, false
	}
	if err := flock(f); err != nil {
		f.Close()
		return nil, false
	}
	return func() { f.Close() }, true
}

// unsigned reports whether the folder is one that New didn't get to sign:
// there is nothing else in it. Other programs may use the same prefix.
func unsigned(path string) bool {
	entries, err := os.ReadDir(path)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if e.Name() != ownerFile+".new" {
			return false
		}
	}
	return true
}
