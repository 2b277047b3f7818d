// Package wire is a RESP-aware relay between one instance and one server. It
// sees who sent which command and what came back, and can hold, delay, drop,
// duplicate or cut at exactly one command, without changing a byte of the rest.
package wire

import "time"

// Point is a place in the life of one command on the wire.
type Point string

// The points of a command's life.
const (
	// OnCommand: the command is parsed and nothing of it has reached the server.
	OnCommand Point = "command"
	// OnReply: the whole reply has left the server and nothing of it has reached
	// the instance. Of a reply longer than 64 KiB, so much has left the server.
	OnReply Point = "reply"
	// OnLost: the command was sent on to the server, and its connection ended, or
	// lost everything that passed on it, before its reply had come. Whether the
	// server executed it isn't known.
	OnLost Point = "lost"
)

// Role is what a command on a key is for, as far as the command itself tells.
type Role string

// The roles. A script's role is told from its text.
const (
	Acquire Role = "acquire" // takes the key if it is free: SETNX, SET NX, a script that does
	Expire  Role = "expire"  // gives the key an expiry without looking at its owner: EXPIRE, PEXPIRE
	Renew   Role = "renew"   // prolongs the key for its owner: a script or command that compares first
	Release Role = "release" // removes the key: DEL, a script that compares and deletes
	Other   Role = ""
)

// Exchange is one command and its reply. Handlers may read it while they run;
// it must not be kept without Clone.
type Exchange struct {
	Seq      int64  // 1, 2, ... over the whole wire, in the order in which commands were parsed
	Instance int    // who sent it
	Server   string // to whom
	Conn     int64  // on which connection
	Name     string // upper-case command name, e.g. "SETNX"
	Args     []string
	Key      string // the first key, "" when there is none or it isn't known
	Value    string // the value that acquires, renews or releases the key, "" when there is none
	// Role is Other for a command queued in a transaction: its EXEC has the role
	// (and the key and the value), as that is what takes effect.
	Role Role

	Reply Reply // at OnReply

	Parsed    time.Duration // all times since the run's start
	Forwarded time.Duration
	Answered  time.Duration
}

// Clone returns a copy that may be kept.
func (x *Exchange) Clone() Exchange {
	c := *x
	c.Args = append([]string(nil), x.Args...)
	return c
}

// Reply is a server's answer, with its payload cut to what a person would read.
type Reply struct {
	Type byte   // the first byte of the RESP frame: + - : $ * _ # , ( ! = % ~ >
	Text string // "OK", "1", "(nil)", an error's text, or a short form of an aggregate
	Nil  bool
	Err  bool
	Size int // bytes on the wire; of a long aggregate, those that had come

	verdict verdict // what the command makes of the reply, where its shape isn't enough
}

// Granted reports whether the reply says that an Acquire took the key, or that
// a Renew, Expire or Release took effect: OK, a positive integer, or a value.
// Where a command's replies mean something else (SET with NX and GET answers
// nil when it took the key, as Redisson's scripts do), that counts.
func (r Reply) Granted() bool {
	switch {
	case r.verdict != byShape:
		return r.verdict == granted
	case r.Type == 0 || r.Err || r.Nil:
		return false
	case r.Type == ':' || r.Type == '#':
		return r.Text != "0" && r.Text != "false" && len(r.Text) > 0 && r.Text[0] != '-'
	}
	return true
}
