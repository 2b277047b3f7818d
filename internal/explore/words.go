package explore

import (
	"regexp"
	"strconv"
	"strings"
)

// token is a value that only one buyer has sent: a random value, as a rule. It
// is named after the buyer, and numbered in the order in which the buyer has
// come up with them, so that words don't depend on chance. A buyer that goes round
// in a circle begins to count anew where the circle begins.
type token struct {
	b *buyer
	n int // 0 until the command with which it came up was recognised
}

func (t *token) name() string {
	if t.n == 0 {
		return "‹" + strconv.Itoa(t.b.n) + "?›"
	}
	return "‹" + strconv.Itoa(t.b.n) + "#" + strconv.Itoa(t.n) + "›"
}

// minToken is the length from which a value that isn't known to be a constant
// counts as random.
const minToken = 6

// wordOf is an argument in words that don't depend on chance.
func (w *world) wordOf(b *buyer, arg string) string {
	if len(arg) < minToken || w.constants[arg] {
		return arg
	}
	t := w.tokens[arg]
	if t == nil {
		if b == nil {
			return "‹" + strconv.Itoa(len(arg)) + "›"
		}
		t = &token{b: b}
		w.tokens[arg] = t
	}
	return t.name()
}

// shapeOf says what a pending message is.
func (w *world) shapeOf(b *buyer, p *pending) string {
	switch p.kind {
	case ofBegin:
		return "begin"
	case ofCommit:
		return "commit"
	case ofCall:
		return "call"
	}
	var s strings.Builder
	for _, args := range p.batch {
		for i, a := range args {
			switch {
			case i == 0:
				s.WriteString(strings.ToUpper(a))
			default:
				s.WriteByte(' ')
				s.WriteString(w.wordOf(b, a))
			}
		}
		s.WriteByte('\n')
	}
	return s.String()
}

// numberTokens numbers the values that b has come up with in this command.
func (w *world) numberTokens(b *buyer, p *pending) {
	for _, args := range p.batch {
		for _, a := range args[1:] {
			if t := w.tokens[a]; t != nil && t.n == 0 && t.b == b {
				b.tokens++
				t.n = b.tokens
			}
		}
	}
}

// anonymous is a shape in which those of b's values look the same that it has
// come up with since it had so many.
func (b *buyer) anonymous(shape string, since int) string {
	mark := "‹" + strconv.Itoa(b.n) + "#"
	if !strings.Contains(shape, mark) {
		return shape
	}
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(shape, mark)
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		number, after, _ := strings.Cut(rest, "›")
		if n, _ := strconv.Atoi(number); n > since {
			out.WriteString("‹" + strconv.Itoa(b.n) + "?›")
		} else {
			out.WriteString(mark + number + "›")
		}
		shape = after
	}
}

// newest is the highest number of b's values in a command.
func (b *buyer) newest(p *pending) int {
	most := 0
	for _, args := range p.batch {
		for _, a := range args[1:] {
			if t := b.w.tokens[a]; t != nil && t.b == b {
				most = max(most, t.n)
			}
		}
	}
	return most
}

var numbered = regexp.MustCompile(`#\d+›`)

// formOf is a shape in which all of a buyer's values look the same.
func formOf(shape string) string { return numbered.ReplaceAllString(shape, "?›") }

// wordsOfReply is a reply in words that don't depend on chance.
func (w *world) wordsOfReply(p *pending, reply []byte) string {
	if len(reply) < minToken {
		return string(reply)
	}
	timed := len(p.batch) == 1 && asksForTime(p.batch[0][0])
	var s strings.Builder
	for line := range strings.SplitSeq(string(reply), "\r\n") {
		if timed && strings.HasPrefix(line, ":") {
			if ms, err := strconv.ParseInt(line[1:], 10, 64); err == nil && ms > 0 {
				line = ":" + strconv.FormatInt(w.coarseMS(ms), 10)
			}
		}
		s.WriteString(w.wordOf(nil, line))
		s.WriteByte('\n')
	}
	return s.String()
}

func asksForTime(name string) bool {
	return strings.EqualFold(name, "PTTL") || strings.EqualFold(name, "TTL")
}

// keysOf are the bits of the keys that a pending message touches.
func keysOf(p *pending) uint64 {
	if p.kind != ofCommand {
		return inventoryBit
	}
	var bits uint64
	for _, args := range p.batch {
		bits |= keysOfCommand(p.server, args)
	}
	return bits
}

func keysOfCommand(server int, args []string) uint64 {
	switch strings.ToUpper(args[0]) {
	case "MULTI", "EXEC", "DISCARD":
		return 0
	case "EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO":
		if len(args) < 3 {
			return everyKey
		}
		n, err := strconv.Atoi(args[2])
		if err != nil || n < 1 || len(args) < 3+n {
			return everyKey
		}
		var bits uint64
		for _, k := range args[3 : 3+n] {
			bits |= keyBit(server, k)
		}
		return bits
	case "SET", "SETNX", "GET", "GETDEL", "GETEX", "GETSET", "SETEX", "PSETEX", "EXPIRE", "PEXPIRE", "PERSIST", "TTL", "PTTL",
		"INCR", "DECR", "INCRBY", "HSET", "HGET", "HDEL", "HEXISTS", "HSETNX", "HINCRBY", "DELEX", "DELIFEQ", "CAS", "CAD",
		"EXSET", "EXGET", "EXCAS", "EXCAD", "EXSETVER":
		if len(args) > 1 {
			return keyBit(server, args[1])
		}
	case "DEL", "UNLINK", "EXISTS":
		var bits uint64
		for _, k := range args[1:] {
			bits |= keyBit(server, k)
		}
		return bits
	}
	return everyKey
}
