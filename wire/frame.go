package wire

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// Limits of a reply. Nothing that a server sends by itself comes near them:
// whoever exceeds them doesn't speak RESP.
const (
	maxDepth  = 128       // aggregates inside aggregates
	maxBulk   = 512 << 20 // bytes of one string
	maxCount  = 1 << 30   // elements of one aggregate
	maxHeader = 20        // digits of a length or a count
)

// errFraming is wrapped by every error that says that bytes aren't RESP.
var errFraming = errors.New("not RESP")

func framingError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errFraming, fmt.Sprintf(format, args...))
}

// level is an aggregate, or a string sent in chunks, that isn't complete yet.
type level struct {
	left   int64 // values to come
	stream bool  // values come until an end marker
	chunks bool  // it is a string: what comes are chunks
	attr   bool  // it is an attribute: not a value, it belongs to the value behind it
}

type scanState int

const (
	atType scanState = iota
	inLine
	inHeader
	inPayload
)

// scanner finds where RESP2 and RESP3 frames end, however their bytes are cut
// into chunks. It keeps no payload: its memory is bounded by maxDepth.
type scanner struct {
	state  scanState
	typ    byte // of the value whose line, header or payload is being read
	cr     bool // the byte before was a carriage return
	digits [maxHeader]byte
	n      int   // digits in use
	left   int64 // payload bytes to come, the final CRLF included
	stack  []level

	size  int64 // bytes of the current frame so far
	top   byte  // type of the frame's value, 0 as long as only attributes were seen
	topAt int64 // where that value starts within the frame
}

// begin forgets the frame that is over. It must be called between frames.
func (s *scanner) begin() { s.size, s.top, s.topAt = 0, 0, 0 }

// scan takes bytes up to the end of the current frame: n of b, and done when
// the frame is over. After an error the scanner is of no use.
func (s *scanner) scan(b []byte) (n int, done bool, err error) {
	for n < len(b) && !done && err == nil {
		var k int
		switch s.state {
		case atType:
			k, done, err = 1, false, s.open(b[n])
		case inLine:
			k, done, err = s.line(b[n:])
		case inHeader:
			k = 1
			done, err = s.header(b[n])
		default:
			k, done, err = s.payload(b[n:])
		}
		n += k
		s.size += int64(k)
	}
	return n, done, err
}

// open starts a value (or an attribute, a chunk, an end marker) by its type.
func (s *scanner) open(typ byte) error {
	chunks := len(s.stack) > 0 && s.stack[len(s.stack)-1].chunks
	if chunks != (typ == ';') {
		return framingError("%q where a chunk or a value was due", typ)
	}
	switch typ {
	case '+', '-', ':', '_', '#', ',', '(':
		s.state = inLine
	case '.':
		if len(s.stack) == 0 || !s.stack[len(s.stack)-1].stream {
			return framingError("an end marker without a beginning")
		}
		s.state = inLine
	case '$', '!', '=', ';', '*', '%', '~', '>', '|':
		s.state, s.n = inHeader, 0
	default:
		return framingError("unknown type %q", typ)
	}
	if len(s.stack) == 0 && typ != '|' {
		s.top, s.topAt = typ, s.size
	}
	s.typ, s.cr = typ, false
	return nil
}

// line skips a value that is one line.
func (s *scanner) line(b []byte) (n int, done bool, err error) {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		s.cr = b[len(b)-1] == '\r'
		return len(b), false, nil
	}
	ends := s.cr
	if i > 0 {
		ends = b[i-1] == '\r'
	}
	s.cr = false
	if !ends {
		return i + 1, false, nil
	}
	if s.typ == '.' {
		s.stack = s.stack[:len(s.stack)-1]
	}
	return i + 1, s.complete(), nil
}

// header takes one byte of a length or a count.
func (s *scanner) header(c byte) (done bool, err error) {
	switch {
	case s.cr && c == '\n':
		return s.sized(string(s.digits[:s.n]))
	case s.cr:
		return false, framingError("a carriage return inside the length of %q", s.typ)
	case c == '\r':
		s.cr = true
	case s.n == maxHeader:
		return false, framingError("the length of %q has more than %d digits", s.typ, maxHeader)
	default:
		s.digits[s.n] = c
		s.n++
	}
	return false, nil
}

// sized goes on behind a length or a count.
func (s *scanner) sized(text string) (done bool, err error) {
	if text == "?" {
		return false, s.stream()
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return false, framingError("%q has the length %q", s.typ, text)
	}
	if n == -1 && (s.typ == '$' || s.typ == '*') {
		return s.complete(), nil
	}
	if n < 0 {
		return false, framingError("%q has the length %d", s.typ, n)
	}
	switch s.typ {
	case '$', '!', '=', ';':
		return s.bulk(n)
	default:
		return s.aggregate(n)
	}
}

func (s *scanner) stream() error {
	switch s.typ {
	case '$':
		return s.push(level{chunks: true})
	case '*', '%', '~', '>':
		return s.push(level{stream: true})
	}
	return framingError("%q can't be sent in pieces", s.typ)
}

func (s *scanner) bulk(n int64) (done bool, err error) {
	if n > maxBulk {
		return false, framingError("a string of %d bytes, more than %d", n, maxBulk)
	}
	if s.typ == ';' && n == 0 {
		s.stack = s.stack[:len(s.stack)-1]
		return s.complete(), nil
	}
	s.state, s.left = inPayload, n+2
	return false, nil
}

func (s *scanner) aggregate(n int64) (done bool, err error) {
	if n > maxCount {
		return false, framingError("%d elements, more than %d", n, maxCount)
	}
	if s.typ == '%' || s.typ == '|' {
		n *= 2
	}
	if n > 0 {
		return false, s.push(level{left: n, attr: s.typ == '|'})
	}
	if s.typ == '|' {
		s.state = atType
		return false, nil
	}
	return s.complete(), nil
}

func (s *scanner) push(l level) error {
	if len(s.stack) == maxDepth {
		return framingError("more than %d aggregates inside each other", maxDepth)
	}
	s.stack = append(s.stack, l)
	s.state = atType
	return nil
}

// payload skips bytes of a string, and checks that it ends where it should.
func (s *scanner) payload(b []byte) (n int, done bool, err error) {
	if s.left > 2 {
		n = int(min(s.left-2, int64(len(b))))
		s.left -= int64(n)
		return n, false, nil
	}
	if b[0] != "\n\r"[s.left-1] {
		return 0, false, framingError("a string of %q is longer than its length", s.typ)
	}
	if s.left--; s.left > 0 {
		return 1, false, nil
	}
	if s.typ == ';' {
		s.state = atType
		return 1, false, nil
	}
	return 1, s.complete(), nil
}

// complete counts a whole value, and reports whether the frame is over with it.
func (s *scanner) complete() bool {
	s.state = atType
	for len(s.stack) > 0 {
		l := &s.stack[len(s.stack)-1]
		if l.stream {
			return false
		}
		if l.left--; l.left > 0 {
			return false
		}
		attr := l.attr
		s.stack = s.stack[:len(s.stack)-1]
		if attr {
			return false
		}
	}
	return true
}
