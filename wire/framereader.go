package wire

import "io"

const (
	// headLimit is how much of a reply is looked at, and kept while handlers
	// decide about it. What is behind it is forwarded as it comes.
	headLimit = 64 << 10
	// firstBuffer is what a connection starts with: most replies are tiny.
	firstBuffer = 4 << 10
)

// frameReader cuts a server's bytes into frames. It never holds more than
// headLimit bytes.
type frameReader struct {
	src     io.Reader
	buf     []byte
	start   int // buf[start:seen] is scanned and not handed out yet
	seen    int
	end     int  // buf[seen:end] isn't scanned yet
	mid     bool // a part of the current frame has been handed out
	scanner scanner
}

func newFrameReader(src io.Reader) *frameReader {
	return &frameReader{src: src, buf: make([]byte, firstBuffer)}
}

// next returns the next piece of a frame, and whether it is the frame's last.
// A frame's first piece is the whole frame, or its first headLimit bytes; the
// following ones are as long as what has come. It is valid until the next call.
//
// io.EOF means that the source ended between two frames. After any other error
// rest returns the bytes that belong to no piece. Errors that wrap errFraming
// say that the source doesn't send RESP.
func (r *frameReader) next() (piece []byte, last bool, err error) {
	if !r.mid {
		r.scanner.begin()
	}
	for {
		n, done, err := r.scanner.scan(r.buf[r.seen:r.end])
		r.seen += n
		switch {
		case err != nil:
			return nil, false, err
		case done:
			r.mid = false
			return r.take(), true, nil
		case r.mid && r.seen > r.start, r.seen-r.start == headLimit:
			r.mid = true
			return r.take(), false, nil
		}
		if err := r.fill(); err != nil {
			return nil, false, err
		}
	}
}

// take hands out what is scanned.
func (r *frameReader) take() []byte {
	piece := r.buf[r.start:r.seen]
	r.start = r.seen
	return piece
}

// rest returns and forgets what was read and not handed out.
func (r *frameReader) rest() []byte {
	r.seen = r.end
	return r.take()
}

// fill reads once, after making room.
func (r *frameReader) fill() error {
	switch {
	case r.start == r.end:
		r.start, r.seen, r.end = 0, 0, 0
	case r.end < len(r.buf):
	case r.start > 0:
		r.slide(r.buf)
	default:
		r.slide(make([]byte, min(4*len(r.buf), headLimit)))
	}
	n, err := r.src.Read(r.buf[r.end:])
	r.end += n
	if n > 0 {
		return nil
	}
	if err == io.EOF && (r.mid || r.start < r.end) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// slide moves what is kept to the beginning of buf, which becomes the buffer.
func (r *frameReader) slide(buf []byte) {
	r.end = copy(buf, r.buf[r.start:r.end])
	r.seen -= r.start
	r.start = 0
	r.buf = buf
}
