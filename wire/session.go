package wire

import (
	"slices"
	"strings"
	"sync"
)

// pending is a command whose reply is due.
type pending struct {
	Exchange
	purpose purpose
	at      int  // of an EXEC with a role: which element of its reply decides, else -1
	swallow bool // the instance doesn't know of it: its reply is lost
	asked   bool // the handlers have seen its reply

	// A command of the SUBSCRIBE family is answered by several confirmations.
	confirm string // their first word; "" for all other commands
	left    int    // how many are to come; 0 when the command names no channel: until none is left
}

// session knows what has to be known about one connection to tell which reply
// answers which command. Commands are announced in the order in which they are
// forwarded, by one goroutine; replies are matched by another.
type session struct {
	mu    sync.Mutex
	queue []*pending // queue[first:] is due
	first int

	// Known from the commands alone.
	muted bool // CLIENT REPLY OFF
	skip  bool // CLIENT REPLY SKIP: the next command isn't answered either
	tx    *transaction

	// Known from the replies alone.
	resp3   bool
	monitor bool
	subs    map[string]map[string]struct{} // by the kind's word: what is subscribed to
}

// transaction is what was queued since MULTI.
type transaction struct {
	queued  int
	at      int // of the command with a role
	purpose purpose
	key     string
}

// announce prepares p, a command that is about to be forwarded, and adds to it
// what the connection's state says. answered is false when no reply is due.
func (s *session) announce(p *pending) (answered bool) {
	p.at = -1
	s.transact(p)
	skipped := s.skip
	s.skip = false
	if p.Name == "CLIENT" && len(p.Args) == 3 && strings.EqualFold(p.Args[1], "REPLY") && s.tx == nil {
		switch strings.ToUpper(p.Args[2]) {
		case "OFF":
			s.muted = true
		case "SKIP":
			s.skip = !s.muted
			skipped = true
		case "ON":
			s.muted, skipped = false, false
		}
	}
	if p.Name == "RESET" {
		s.muted, skipped = false, false
	}
	switch p.Name {
	case "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE":
		p.confirm, p.left = strings.ToLower(p.Name), len(p.Args)-1
	}
	return !s.muted && !skipped
}

// transact follows MULTI and EXEC. What is queued has no role of its own.
func (s *session) transact(p *pending) {
	switch p.Name {
	case "MULTI":
		if s.tx == nil {
			s.tx = &transaction{}
		}
	case "DISCARD", "RESET":
		s.tx = nil
	case "EXEC":
		if tx := s.tx; tx != nil && tx.purpose.role != Other {
			p.purpose, p.at = tx.purpose, tx.at
			p.Role, p.Value, p.Key = tx.purpose.role, tx.purpose.value, tx.key
		}
		s.tx = nil
	case "WATCH":
	default:
		if s.tx != nil {
			s.tx.add(p)
		}
	}
}

// add queues a command. The weightiest role of all becomes the transaction's.
func (tx *transaction) add(p *pending) {
	if weight(p.Role) > weight(tx.purpose.role) {
		tx.at, tx.purpose, tx.key = tx.queued, p.purpose, p.Key
	}
	tx.queued++
	p.purpose, p.Role = purpose{}, Other
}

func weight(r Role) int {
	return slices.Index([]Role{Expire, Renew, Release, Acquire}, r)
}

// expect adds a command whose reply is due.
func (s *session) expect(p *pending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first > len(s.queue)/2 {
		s.queue = append(s.queue[:0], s.queue[s.first:]...)
		s.first = 0
	}
	s.queue = append(s.queue, p)
}

// due returns the command whose reply is due next, or nil.
func (s *session) due() *pending {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == len(s.queue) {
		return nil
	}
	return s.queue[s.first]
}

func (s *session) pop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue[s.first] = nil
	s.first++
}

// rest returns the commands whose replies are still due, in their order.
func (s *session) rest() []*pending {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queue[s.first:]
}

// match returns the command that a frame answers, nil when it answers none: a
// push, a message, a line of MONITOR, or something unasked for. value is the
// frame's head without attributes.
func (s *session) match(value []byte) *pending {
	p := s.due()
	if len(value) == 0 {
		value = []byte{0} // nothing but attributes so far: it can only be an answer
	}
	switch typ := value[0]; {
	case typ == '>', typ == '*' && (s.subscribed() || p != nil && p.confirm != ""):
		word := firstWord(value)
		if p != nil && p.confirm != "" && p.confirm == word {
			return s.confirmed(p, value)
		}
		if typ == '>' || !s.resp3 && s.published(word, value) {
			return nil
		}
	case typ == '+' && s.monitor && len(value) > 1 && value[1] >= '0' && value[1] <= '9':
		return nil
	}
	if p != nil {
		s.pop()
		s.answered(p, value)
	}
	return p
}

// published reports whether an array is something that a subscriber is told.
func (s *session) published(word string, value []byte) bool {
	switch word {
	case "message", "pmessage", "smessage":
		return true
	case "unsubscribe", "punsubscribe", "sunsubscribe":
		s.track(word, channelOf(value))
		return true
	}
	return false
}

// confirmed counts one confirmation of p.
func (s *session) confirmed(p *pending, value []byte) *pending {
	left := s.track(p.confirm, channelOf(value))
	if p.left > 0 {
		p.left--
		if p.left == 0 {
			s.pop()
		}
	} else if left == 0 {
		s.pop()
	}
	return p
}

// track notes a confirmed subscription or its end, and returns how many of
// that kind there are.
func (s *session) track(word, channel string) int {
	kind := strings.Replace(word, "unsub", "sub", 1)
	if s.subs == nil {
		s.subs = map[string]map[string]struct{}{}
	}
	if s.subs[kind] == nil {
		s.subs[kind] = map[string]struct{}{}
	}
	if kind == word {
		s.subs[kind][channel] = struct{}{}
	} else {
		delete(s.subs[kind], channel)
	}
	return len(s.subs[kind])
}

func (s *session) subscribed() bool {
	for _, set := range s.subs {
		if len(set) > 0 {
			return true
		}
	}
	return false
}

// channelOf returns the second element of a confirmation, whole.
func channelOf(value []byte) string {
	line := lineOf(value)
	b := behindValue(value[min(len(line)+2, len(value)):])
	if end := behindValue(b); b != nil && end != nil {
		return string(b[:len(b)-len(end)])
	}
	return ""
}

// answered follows what the reply to p changes about the connection.
func (s *session) answered(p *pending, value []byte) {
	if value[0] == '-' || value[0] == '!' {
		return
	}
	switch p.Name {
	case "HELLO":
		if v := arg(p.Args, 1); v != "" {
			s.resp3 = v == "3"
		}
	case "MONITOR":
		s.monitor = string(value) == "+OK\r\n"
	case "RESET":
		if string(value) == "+RESET\r\n" {
			s.resp3, s.monitor, s.subs = false, false, nil
		}
	}
}
