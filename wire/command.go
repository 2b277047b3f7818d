package wire

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/tidwall/redcon"
)

const (
	// maxCommand bounds one command, which is kept whole while handlers decide
	// about it.
	maxCommand = 64 << 20
	// maxInline bounds a command that is a line of text, as servers do.
	maxInline = 64 << 10
	// keptBuffer is the largest buffer that is kept once its command is gone.
	keptBuffer = 1 << 20
)

// command is one command as a client sent it. It is valid until the next is read.
type command struct {
	raw  []byte
	args [][]byte // empty for an empty line, which no server answers
}

// strings returns copies of the arguments, in one piece of memory.
func (c command) strings() []string {
	size := 0
	for _, a := range c.args {
		size += len(a)
	}
	var all strings.Builder
	all.Grow(size)
	args := make([]string, len(c.args))
	for i, a := range c.args {
		start := all.Len()
		all.Write(a)
		args[i] = all.String()[start:]
	}
	return args
}

// commandReader cuts a client's bytes into commands, without changing them.
type commandReader struct {
	src   io.Reader
	buf   []byte
	start int // buf[start:end] isn't handed out yet
	end   int
	args  [][]byte
}

func newCommandReader(src io.Reader) *commandReader {
	return &commandReader{src: src, buf: make([]byte, firstBuffer)}
}

// next returns the next command. Errors that wrap errFraming say that the
// client doesn't send commands; after any error rest returns the bytes that
// belong to none.
func (r *commandReader) next() (command, error) {
	for {
		if r.start < r.end {
			packet := r.buf[r.start:r.end]
			n, args, err := parseCommand(packet, r.args)
			if err != nil {
				return command{}, err
			}
			if n > 0 {
				r.args = args
				r.start += n
				return command{raw: packet[:n], args: args}, nil
			}
			if len(packet) >= maxCommand {
				return command{}, framingError("a command of more than %d bytes", maxCommand)
			}
		}
		if err := r.fill(); err != nil {
			return command{}, err
		}
	}
}

// rest returns and forgets what was read and not handed out.
func (r *commandReader) rest() []byte {
	b := r.buf[r.start:r.end]
	r.start = r.end
	return b
}

// fill reads once, after making room.
func (r *commandReader) fill() error {
	switch {
	case r.start == r.end:
		r.start, r.end = 0, 0
		if len(r.buf) > keptBuffer {
			r.buf = make([]byte, firstBuffer)
		}
	case r.end == len(r.buf):
		buf := r.buf
		if r.end-r.start > len(r.buf)/2 {
			buf = make([]byte, 2*len(r.buf))
		}
		r.end = copy(buf, r.buf[r.start:r.end])
		r.start, r.buf = 0, buf
	}
	n, err := r.src.Read(r.buf[r.end:])
	r.end += n
	if n > 0 {
		return nil
	}
	return err
}

// parseCommand reads one command from the beginning of packet: its length, 0
// when more bytes are needed, and its arguments. args is a buffer to use.
func parseCommand(packet []byte, args [][]byte) (n int, _ [][]byte, err error) {
	if packet[0] != '*' {
		return parseInline(packet, args)
	}
	// redcon indexes with the lengths that a client claims, so that a negative
	// one makes it panic.
	defer func() {
		if recover() != nil {
			n, err = 0, framingError("a command with an impossible length")
		}
	}()
	complete, args, _, left, err := redcon.ReadNextCommand(packet, args)
	switch {
	case err != nil:
		return 0, nil, errors.Join(errFraming, err)
	case !complete:
		return 0, args, nil
	}
	return len(packet) - len(left), args, nil
}

// parseInline reads a command that is a line of text.
func parseInline(packet []byte, args [][]byte) (int, [][]byte, error) {
	n := bytes.IndexByte(packet, '\n') + 1
	if n == 0 {
		if len(packet) > maxInline {
			return 0, nil, framingError("a line of more than %d bytes", maxInline)
		}
		return 0, args, nil
	}
	line := packet[:n]
	// redcon takes '$' for another server's protocol and is stricter about
	// quotes than servers are. The line is forwarded as it is either way, and
	// its words are enough to name it.
	if line[0] != '$' {
		complete, args, _, _, err := redcon.ReadNextCommand(line, args)
		if err == nil && complete {
			return n, args, nil
		}
	}
	return n, append(args[:0], bytes.Fields(line)...), nil
}

// upperName returns the upper-case name of a command, without allocating for
// the common ones.
func upperName(name []byte) string {
	if s, ok := spellings[string(name)]; ok {
		return s
	}
	return strings.ToUpper(string(name))
}

var spellings = func() map[string]string {
	m := map[string]string{}
	for _, k := range keyPlaces {
		for name := range strings.FieldsSeq(k.names) {
			m[name] = name
			m[strings.ToLower(name)] = name
		}
	}
	return m
}()
