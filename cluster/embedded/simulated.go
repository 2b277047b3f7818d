package embedded

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// Simulated is a server without connections, for whoever decides himself when
// each command is executed. Its clock is that of the calling goroutine, so in a
// synctest bubble keys expire by the bubble's clock. It is to be used by one
// goroutine at a time.
type Simulated struct {
	mini    *miniredis.Miniredis
	srv     *server.Server
	tracker *tracker
	script  bool // is being executed
	writes  uint64
}

// NewSimulated makes an empty server. Close it.
func NewSimulated() (*Simulated, error) {
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	// A first connection makes the library set up its commands.
	c, err := m.Dial()
	if err != nil {
		return nil, fmt.Errorf("start the simulated server: %w", err)
	}
	c.Close()
	if err := addCommands(m); err != nil {
		m.Close()
		return nil, err
	}
	s := &Simulated{mini: m, srv: m.Server()}
	s.tracker = newTracker(s)
	s.srv.SetPreHook(s.counting(s.tracker.hook(preHook(s.srv))))
	return s, nil
}

// counting counts the commands in scripts that may write.
func (s *Simulated) counting(next server.Hook) server.Hook {
	return func(p *server.Peer, name string, args ...string) bool {
		if s.script && !IsScript(name) && !s.srv.IsReadOnlyCommand(name) {
			s.writes++
		}
		return next(p, name, args...)
	}
}

// ScriptWrites counts the commands in scripts that may have written something,
// refused ones included.
func (s *Simulated) ScriptWrites() uint64 { return s.writes }

// Close frees the server.
func (s *Simulated) Close() { s.mini.Close() }

// Version is what the server says of itself, e.g. "miniredis 2.40.0 (simulated)".
func (s *Simulated) Version() string { return version() }

// Session is one client's connection: its protocol version, database,
// transaction, and what it has asked to be told of.
type Session struct {
	s     *Simulated
	srv   *server.Server
	peer  *server.Peer
	out   bytes.Buffer
	track tracking
	watch bool // there may be keys that it watches
}

// Session opens a connection.
func (s *Simulated) Session() *Session {
	c := &Session{s: s, srv: s.srv}
	c.peer = server.NewPeer(bufio.NewWriter(&c.out))
	return c
}

// Do executes a command and appends its reply to reply. Commands that wait on
// the server, such as BLPOP, block.
func (c *Session) Do(reply []byte, args []string) []byte {
	if own, ok := c.answer(args); ok {
		return append(reply, own...)
	}
	c.out.Reset()
	c.s.tracker.begin(c, args)
	name := strings.ToUpper(args[0])
	switch name {
	case "WATCH":
		c.watch = true
	case "FLUSHALL", "FLUSHDB":
		if !nested(c.peer) {
			c.s.deleteAll()
		}
	}
	c.s.script = IsScript(name)
	c.srv.Dispatch(c.peer, args)
	c.peer.Flush()
	c.s.tracker.end(args, c.out.Bytes())
	if c.peer.Resp3 && bytes.Equal(c.out.Bytes(), nullArray) { // an EXEC that comes to nothing
		return append(reply, "_\r\n"...)
	}
	return append(reply, c.out.Bytes()...)
}

var nullArray = []byte("*-1\r\n")

// RESP3 reports whether the client has asked for version 3 of the protocol.
func (c *Session) RESP3() bool { return c.peer.Resp3 }

// SpeakRESP3 does what HELLO 3 would.
func (c *Session) SpeakRESP3() { c.peer.Resp3 = true }

// Flush removes every key. Scripts stay.
func (s *Simulated) Flush() {
	s.deleteAll()
	s.mini.FlushAll()
	s.tracker.flushed()
}

// deleteAll removes keys one by one, which whoever watches them notices.
func (s *Simulated) deleteAll() {
	for _, k := range s.mini.DB(0).Keys() {
		s.mini.Del(k)
	}
}

// Delete removes a key.
func (s *Simulated) Delete(key string) { s.mini.Del(key) }

// Expire sets the time that a key has left: 0 takes the expiry away, less
// removes the key.
func (s *Simulated) Expire(key string, left time.Duration) {
	if left < 0 {
		s.mini.Del(key)
		return
	}
	s.mini.SetTTL(key, left)
}

// Entry is what a key holds.
type Entry struct {
	Key   string
	Type  string   // "string", "hash", ...
	Value []string // a string's value; of other types their parts, in a fixed order
	TTL   time.Duration
}

// Same reports whether two entries differ in nothing but their time to live.
func (e Entry) Same(f Entry) bool {
	return e.Key == f.Key && e.Type == f.Type && slices.Equal(e.Value, f.Value)
}

// Entries appends what there is to list, ordered by key. TTL is 0 where there
// is no expiry.
func (s *Simulated) Entries(list []Entry) []Entry {
	db := s.mini.DB(0) // whose clock moves on here, and not below
	for _, k := range db.Keys() {
		list = append(list, s.entry(db, k))
	}
	s.tracker.look()
	return list
}

func (s *Simulated) entry(db *miniredis.RedisDB, key string) Entry {
	e := Entry{Key: key, Type: db.Type(key), TTL: db.TTL(key)}
	switch e.Type {
	case "string":
		v, _ := db.Get(key)
		e.Value = []string{v}
	case "hash":
		fields, _ := db.HKeys(key)
		slices.Sort(fields)
		for _, f := range fields {
			e.Value = append(e.Value, f, db.HGet(key, f))
		}
	case "list":
		e.Value, _ = db.List(key)
	case "set":
		e.Value, _ = db.Members(key)
	case "zset":
		scores, _ := db.SortedSet(key)
		for member, score := range scores {
			e.Value = append(e.Value, member+"="+strconv.FormatFloat(score, 'f', -1, 64))
		}
		slices.Sort(e.Value)
	default: // a stream, or what counts distinct values
		for line := range strings.Lines(s.mini.Dump()) {
			e.Value = append(e.Value, line)
		}
	}
	return e
}
