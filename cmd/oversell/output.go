package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/reports"
	"github.com/oversell/oversell/result"
)

// output is one report to write.
type output struct {
	format reports.Format
	path   string // "" for stdout
}

// formatNames lists what --output can say.
func formatNames(formats []reports.Format) []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.Name
	}
	return names
}

// outputUsage is the help of --output.
func (a *app) outputUsage() string {
	return "FORMAT or FORMAT=PATH, repeatable (default text): " + strings.Join(formatNames(a.formats), ", ")
}

// parseOutputs reads the values of --output for a list of runs.
func (a *app) parseOutputs(given []string) ([]output, error) {
	return outputsOf(given, a.formats)
}

// otherwise are the words for one thing: a matrix says markdown, runs say md.
var otherwise = map[string]string{"md": "markdown", "markdown": "md"}

// outputsOf reads the values of --output, which name some of formats; the first
// is the default. Only one format can have stdout.
func outputsOf(given []string, formats []reports.Format) ([]output, error) {
	names := formatNames(formats)
	if len(given) == 0 {
		given = names[:1]
	}
	var outs []output
	taken := map[string]string{}
	for _, text := range given {
		name, path, named := strings.Cut(text, "=")
		o := output{path: path}
		found := false
		for _, f := range formats {
			if f.Name == name || f.Name == otherwise[name] && !found {
				o.format, found = f, true
			}
		}
		switch {
		case !found:
			return nil, unknown("output format", name, names)
		case named && path == "":
			return nil, hint.Wrap(usagef("--output %q names no file", text), "for example --output %s=oversell.%s", name, o.format.Ext)
		case path == "-":
			o.path = ""
		case path != "":
			o.path = filepath.Clean(path)
		}
		if other, twice := taken[o.path]; twice {
			where := "the file " + o.path
			if o.path == "" {
				where = "stdout"
			}
			return nil, hint.Wrap(usagef("two outputs go to %s: %s and %s", where, other, name),
				"give one of them another file, for example --output %s=oversell.%s", name, o.format.Ext)
		}
		taken[o.path] = name
		outs = append(outs, o)
	}
	return outs, nil
}

// checkPlaces finds out, before anything is started, whether the results can
// be saved.
func checkPlaces(dir string, outs []output) error {
	if err := canWriteIn(dir); err != nil {
		return environment(hint.Wrap(fmt.Errorf("--dir %s: %w", dir, err), "choose a folder that can be written, for example --dir /tmp/runs"))
	}
	return checkOutputs(outs)
}

// checkOutputs finds out, before anything is done, whether the reports can be
// saved.
func checkOutputs(outs []output) error {
	for _, o := range outs {
		if o.path == "" {
			continue
		}
		if info, err := os.Stat(o.path); err == nil && info.IsDir() {
			return hint.Wrap(usagef("--output %s=%s: that is a folder", o.format.Name, o.path), "name a file in it")
		}
		if err := canWriteIn(filepath.Dir(o.path)); err != nil {
			return environment(hint.Wrap(fmt.Errorf("--output %s=%s: %w", o.format.Name, o.path, err), "choose a folder that can be written"))
		}
	}
	return nil
}

// canWriteIn tries to write where dir is, or would be made. It leaves nothing behind.
func canWriteIn(dir string) error {
	for {
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			return fmt.Errorf("%s is not a folder", dir)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return err
		}
		dir = filepath.Dir(dir)
	}
	f, err := os.CreateTemp(dir, ".oversell-*")
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}

// writeReports writes every report about runs.
func (a *app) writeReports(outs []output, runs []result.Run, color bool) error {
	return a.writeOutputs(outs, color, func(o output, w io.Writer, opts reports.Options) error {
		opts.Timeline = a.timelineOf
		return o.format.Write(w, runs, opts)
	})
}

// writeOutputs writes every output. One that can't be written doesn't keep the
// others from being written.
func (a *app) writeOutputs(outs []output, color bool, write func(output, io.Writer, reports.Options) error) error {
	var errs []error
	for _, o := range outs {
		var err error
		if o.path == "" {
			opts := reports.Options{Color: color}
			if a.outTTY {
				opts.Width = a.width
			}
			err = write(o, a.out, opts)
		} else {
			err = writeFile(o.path, func(w io.Writer) error { return write(o, w, reports.Options{}) })
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("write the %s report: %w", o.format.Name, err))
		}
	}
	return environment(errors.Join(errs...))
}

// writeFile replaces the file at path in one step: whoever reads it sees the
// old contents or the new, never half of them. Devices and pipes are written to.
func writeFile(path string, write func(io.Writer) error) (err error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".oversell-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	if err := errors.Join(write(f), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
