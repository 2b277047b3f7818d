package wire

import (
	"io"
	"net"
	"sync"
)

// How much may be under way on a connection made by Dial. What a server says
// to a client that doesn't listen must not stop the relay as long as a real
// socket would take it; a pipeline's replies may be long.
const (
	inBuffer  = 1 << 20
	outBuffer = 64 << 20
)

// socket is the relay's end of a net.Pipe, with what a socket has and a pipe
// lacks: buffers, so that neither side has to read for the other to write.
type socket struct {
	pipe    net.Conn
	in, out *queue
	pumps   sync.WaitGroup
}

// newPipe returns a client's end, and the relay's. The relay waits for the
// goroutines behind its end with wait, after Close.
func newPipe() (net.Conn, *socket) {
	client, relay := net.Pipe()
	s := &socket{pipe: relay, in: newQueue(inBuffer), out: newQueue(outBuffer)}
	s.pumps.Go(s.pumpIn)
	s.pumps.Go(s.pumpOut)
	return client, s
}

func (s *socket) pumpIn() {
	buf := make([]byte, firstBuffer)
	for {
		n, err := s.pipe.Read(buf)
		if _, full := s.in.Write(buf[:n]); full != nil || err != nil {
			s.in.close()
			return
		}
	}
}

func (s *socket) pumpOut() {
	defer s.pipe.Close()
	buf := make([]byte, firstBuffer)
	for {
		n, err := s.out.Read(buf)
		if err != nil {
			return
		}
		if _, err := s.pipe.Write(buf[:n]); err != nil {
			s.out.abandon()
			return
		}
	}
}

func (s *socket) Read(b []byte) (int, error)  { return s.in.Read(b) }
func (s *socket) Write(b []byte) (int, error) { return s.out.Write(b) }

// Close ends both directions. What was written before still gets to the client.
func (s *socket) Close() error {
	s.in.abandon()
	s.out.close()
	return nil
}

// abort closes without delivering anything more.
func (s *socket) abort() {
	s.in.abandon()
	s.out.abandon()
	s.pipe.Close()
}

func (s *socket) wait() { s.pumps.Wait() }

// queue is a bounded stream of bytes. Safe for one reader and one writer.
type queue struct {
	mu     sync.Mutex
	change sync.Cond
	limit  int
	bytes  []byte
	closed bool // nothing more is written
	gone   bool // nothing more is read
}

func newQueue(limit int) *queue {
	q := &queue{limit: limit}
	q.change.L = &q.mu
	return q
}

// Write blocks while the queue is full.
func (q *queue) Write(b []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.bytes) >= q.limit && !q.closed {
		q.change.Wait()
	}
	if q.closed {
		return 0, net.ErrClosed
	}
	q.bytes = append(q.bytes, b...)
	q.change.Broadcast()
	return len(b), nil
}

// Read blocks while the queue is empty. After close it returns what is left,
// then io.EOF.
func (q *queue) Read(b []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.bytes) == 0 && !q.closed {
		q.change.Wait()
	}
	if q.gone {
		return 0, net.ErrClosed
	}
	if len(q.bytes) == 0 {
		return 0, io.EOF
	}
	n := copy(b, q.bytes)
	if q.bytes = q.bytes[n:]; len(q.bytes) == 0 {
		q.bytes = nil
	}
	q.change.Broadcast()
	return n, nil
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.change.Broadcast()
}

// abandon closes the queue and forgets what is in it.
func (q *queue) abandon() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed, q.gone, q.bytes = true, true, nil
	q.change.Broadcast()
}
