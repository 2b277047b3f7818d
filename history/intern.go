package history

import (
	"bytes"
	"io"
)

// interner keeps one copy of each short string: a history says the same few
// words over and over, and a large one wouldn't fit into memory otherwise.
type interner map[string]string

// mostInterned bounds an interner.
const mostInterned = 1 << 18

// longestInterned is the length up to which strings are likely to come again.
const longestInterned = 80

func (in interner) one(s *string) {
	if *s == "" || len(*s) > longestInterned {
		return
	}
	if known, ok := in[*s]; ok {
		*s = known
		return
	}
	if len(in) >= mostInterned {
		clear(in)
	}
	in[*s] = *s
}

// event interns all strings of e.
func (in interner) event(e *Event) {
	kind := string(e.Kind)
	in.one(&kind)
	e.Kind = Kind(kind)
	for _, s := range []*string{&e.Purchase, &e.Server, &e.Command, &e.Role, &e.Key, &e.Value, &e.Fault, &e.Phase, &e.Text, &e.Err} {
		in.one(s)
	}
}

// countLines counts what begins a line, a last one without an end included.
func countLines(r io.Reader) (int, error) {
	buf := make([]byte, 256<<10)
	n, last := 0, byte('\n')
	for {
		k, err := r.Read(buf)
		if k > 0 {
			n += bytes.Count(buf[:k], []byte{'\n'})
			last = buf[k-1]
		}
		if err == io.EOF {
			if last != '\n' {
				n++
			}
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}
