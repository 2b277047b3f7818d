package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/oversell/oversell/reports"
	"github.com/oversell/oversell/result"
)

// streams are the outputs that are written while runs go on, a run at a time.
type streams struct {
	color bool
	list  []*stream
}

type stream struct {
	output
	w     io.Writer
	close func() error
	err   error // the first; later runs aren't written
}

// openStreams begins the outputs whose format can be followed.
func (a *app) openStreams(outs []output, color bool) (*streams, error) {
	s := &streams{color: color}
	for _, o := range outs {
		if o.format.Each == nil {
			continue
		}
		st := &stream{output: o, w: a.out, close: func() error { return nil }}
		if o.path != "" {
			f, err := createFile(o.path)
			if err != nil {
				return nil, environment(fmt.Errorf("--output %s=%s: %w", o.format.Name, o.path, err))
			}
			st.w, st.close = f, f.Close
		}
		s.list = append(s.list, st)
	}
	return s, nil
}

// createFile empties the file at path, or makes it and its folder.
func createFile(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return os.Create(path)
}

// write adds a run to every stream.
func (s *streams) write(r result.Run) {
	for _, st := range s.list {
		if st.err == nil {
			st.err = st.format.Each(st.w, r, reports.Options{Color: s.color && st.path == ""})
		}
	}
}

// end closes the streams and returns what went wrong with them.
func (s *streams) end() error {
	var errs []error
	for _, st := range s.list {
		if err := errors.Join(st.err, st.close()); err != nil {
			errs = append(errs, fmt.Errorf("write the %s report: %w", st.format.Name, err))
		}
	}
	return environment(errors.Join(errs...))
}

// unstreamed are the outputs that are written at the end.
func unstreamed(outs []output) []output {
	var rest []output
	for _, o := range outs {
		if o.format.Each == nil {
			rest = append(rest, o)
		}
	}
	return rest
}
