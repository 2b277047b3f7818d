package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/oversell/oversell/internal/hint"
)

const manLong = `Man writes the manual pages of all commands and the completions of all shells
below a folder, where a package puts them: share/man/man1, and for each shell its
own place. With SOURCE_DATE_EPOCH the pages bear that date.`

// newManCmd writes what the other commands say of themselves.
func newManCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "Write manual pages and shell completions",
		Long:    manLong,
		Example: "  oversell man /usr/local",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			return hint.Wrap(usagef("man takes one folder, got %d", len(args)), "for example oversell man /usr/local")
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			date, err := manDate(a.env("SOURCE_DATE_EPOCH"))
			if err != nil {
				return err
			}
			share := filepath.Join(args[0], "share")
			err = errors.Join(writePages(cmd.Root(), filepath.Join(share, "man", "man1"), date), writeCompletions(cmd.Root(), share))
			return environment(err)
		},
	}
}

// manDate is the date of the pages: today, unless a build that can be repeated
// says otherwise.
func manDate(epoch string) (time.Time, error) {
	if epoch == "" {
		return time.Now().UTC(), nil
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, usagef("SOURCE_DATE_EPOCH is %q, not a number of seconds", epoch)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// writePages writes a page for each command that help shows.
func writePages(root *cobra.Command, dir string, date time.Time) error {
	root.DisableAutoGenTag = true
	header := &doc.GenManHeader{Section: "1", Date: &date, Source: "oversell " + readBuild().Version, Manual: "oversell"}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := doc.GenManTree(root, header, dir); err != nil {
		return fmt.Errorf("write the manual pages: %w", err)
	}
	page, err := os.OpenFile(filepath.Join(dir, "oversell.1"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = io.WriteString(page, exitStatus())
	return errors.Join(err, page.Close())
}

// exitStatus is the section on exit codes, which cobra knows nothing of.
func exitStatus() string {
	var b strings.Builder
	b.WriteString("\n.SH EXIT STATUS\n")
	for _, c := range exitCodes {
		fmt.Fprintf(&b, ".TP\n\\fB%d\\fP\n%s\n", c.Code, strings.ReplaceAll(c.Meaning, "-", `\-`))
	}
	return b.String()
}

// writeCompletions writes each shell's completion where its package looks.
func writeCompletions(root *cobra.Command, share string) error {
	for _, s := range []struct {
		path string
		gen  func(io.Writer) error
	}{
		{"bash-completion/completions/oversell", func(w io.Writer) error { return root.GenBashCompletionV2(w, true) }},
		{"zsh/site-functions/_oversell", root.GenZshCompletion},
		{"fish/vendor_completions.d/oversell.fish", func(w io.Writer) error { return root.GenFishCompletion(w, true) }},
		{"powershell/oversell.ps1", root.GenPowerShellCompletionWithDesc},
	} {
		var buf bytes.Buffer
		if err := s.gen(&buf); err != nil {
			return fmt.Errorf("write %s: %w", s.path, err)
		}
		path := filepath.Join(share, filepath.FromSlash(s.path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, buf.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
