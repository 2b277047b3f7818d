package explore

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oversell/oversell/cluster/embedded"
)

// token is a value that only one buyer has sent: a random value, as a rule. It
// is named after the buyer, and numbered in the order in which the buyer has
// come up with them, so that words don't depend on chance. A buyer that goes round
// in a circle begins to count anew where the circle begins.
type token struct {
	b   *buyer
	n   int // 0 until the command with which it came up was recognised
	seq int // of that command
}

// named is a token's name, in which who is its buyer.
func (t *token) named(who int) string {
	if who < len(names) && t.n < len(names[who]) {
		return names[who][t.n]
	}
	return nameOf(who, t.n)
}

func nameOf(who, n int) string {
	if n == 0 {
		return "‹" + strconv.Itoa(who) + "?›"
	}
	return "‹" + strconv.Itoa(who) + "#" + strconv.Itoa(n) + "›"
}

// names are the names that are needed often.
var names = func() (all [MaxBuyers + 1][64]string) {
	for who := range all {
		for n := range all[who] {
			all[who][n] = nameOf(who, n)
		}
	}
	return all
}()

// minToken is the length from which a value that isn't known to be a constant
// counts as random.
const minToken = 6

// isRandom reports whether an argument depends on chance.
func (w *world) isRandom(arg string) bool {
	if len(arg) < minToken || w.constants[arg] {
		return false
	}
	_, is := w.moment(arg)
	return !is
}

// unknown stands for a random value whose buyer isn't known.
func unknown(arg string) string { return "‹" + strconv.Itoa(len(arg)) + "›" }

// wordOf is an argument in words that don't depend on chance, as it is told.
func (w *world) wordOf(arg string) string {
	if !w.isRandom(arg) {
		return w.inWords(arg)
	}
	if t := w.tokens[arg]; t != nil {
		return t.named(t.b.n)
	}
	return unknown(arg)
}

// wordFor is an argument in words of b's, which call its own values those of 0,
// and those of others by when b has met them: so another buyer in its place
// would have the same words.
func (b *buyer) wordFor(arg string) string {
	if !b.w.isRandom(arg) {
		return b.inWords(arg)
	}
	if t := b.w.tokens[arg]; t != nil {
		return t.named(b.placeOf(t.b.n))
	}
	return unknown(arg)
}

// placeOf is when b has met a buyer. Itself it has met first, and where there is
// only one other, that one too.
func (b *buyer) placeOf(n int) int {
	i := slices.Index(b.met, n)
	if i < 0 {
		i = len(b.met)
		b.met = append(b.met, n)
	}
	return i
}

// meetNobody makes b know whom it knows at the start.
func (b *buyer) meetNobody() {
	b.met = append(b.met[:0], b.n)
	if b.w.c.Buyers == 2 {
		b.met = append(b.met, 3-b.n)
	}
}

// addWord adds an argument to a digest in which buyers are exchanged.
func (w *world) addWord(v view, arg string, as turn) view {
	if !w.isRandom(arg) {
		return v.word(w.inWords(arg))
	}
	if t := w.tokens[arg]; t != nil {
		return v.number(1<<32 | uint64(as.of(t.b.n))).number(uint64(t.n))
	}
	return v.word(unknown(arg))
}

// comeUp notes values that b sends as the first.
func (b *buyer) comeUp(p *pending) {
	for _, args := range p.batch {
		for _, a := range args[1:] {
			if b.w.isRandom(a) && b.w.tokens[a] == nil {
				b.w.tokens[a] = &token{b: b, seq: p.seq}
			}
		}
	}
}

// shapeOf says what a pending message is, with arguments in words.
func shapeOf(p *pending, word func(arg string) string) string {
	switch p.kind {
	case ofBegin:
		return "begin"
	case ofCommit:
		return "commit"
	case ofCall:
		return "call"
	case ofPause:
		return "pause " + strconv.FormatUint(p.salt, 10)
	case ofPush:
		return p.shape
	}
	var s strings.Builder
	for _, args := range p.batch {
		n := 0
		for _, a := range args {
			n += len(a) + 1
		}
		s.Grow(n)
		for i, a := range args {
			switch {
			case i == 0:
				s.WriteString(upper(a))
			default:
				s.WriteByte(' ')
				s.WriteString(word(a))
			}
		}
		s.WriteByte('\n')
	}
	return s.String()
}

// uppers are the names of the commands that locks send most, as clients write
// them: each is asked for several times whenever a command is sent.
var uppers = func() map[string]string {
	m := map[string]string{}
	for _, name := range []string{
		"SET", "SETNX", "GET", "DEL", "EXPIRE", "PEXPIRE", "TTL", "PTTL", "EVAL", "EVALSHA", "SCRIPT", "EXISTS",
		"CAS", "CAD", "DELEX", "DELIFEQ", "EXSET", "EXGET", "EXCAS", "EXCAD", "HELLO", "CLIENT", "PING",
	} {
		m[strings.ToLower(name)], m[name] = name, name
	}
	return m
}()

// upper is a command's name in capitals.
func upper(name string) string {
	if u, ok := uppers[name]; ok {
		return u
	}
	return strings.ToUpper(name)
}

// shapeOf is a pending message as it is told.
func (w *world) shapeOf(p *pending) string { return shapeOf(p, w.wordOf) }

// numberTokens numbers the values that b has come up with in this command.
func (w *world) numberTokens(b *buyer, p *pending) {
	for _, args := range p.batch {
		for _, a := range args[1:] {
			if t := w.tokens[a]; t != nil && t.n == spent {
				t.n = t.b.freeNumber() // it was remembered after all
			} else if t != nil && t.n == 0 && t.b == b {
				b.tokens++
				t.n = b.tokens
			}
		}
	}
}

// anonymous is a shape in which those of a buyer's own values look the same that
// it has come up with since it had so many.
func anonymous(shape string, since int) string {
	const mark = "‹0#"
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
			out.WriteString("‹0?›")
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

// newestInUse is the highest number of b's values that a server holds, or would after a
// failover, or that are on their way to one.
func (b *buyer) newestInUse() int {
	most := 0
	for v, t := range b.w.tokens {
		if t.b == b && t.n > most && b.w.uses(v) {
			most = t.n
		}
	}
	return most
}

var numbered = regexp.MustCompile(`#\d+›`)

// formOf is a shape in which all of a buyer's values look the same.
func formOf(shape string) string { return numbered.ReplaceAllString(shape, "?›") }

// wordsOfReply is a reply in words that don't depend on chance.
func (w *world) wordsOfReply(p *pending, reply []byte, word func(arg string) string) string {
	if len(reply) < minToken {
		return string(reply)
	}
	timed := len(p.batch) == 1 && (asksForTime(p.batch[0][0]) || embedded.IsScript(upper(p.batch[0][0])))
	var s strings.Builder
	if reply[0] == '-' && !w.mentionsValue(string(reply)) { // an error is what it says
		return string(reply)
	}
	for line := range strings.SplitSeq(string(reply), "\r\n") {
		if timed && strings.HasPrefix(line, ":") {
			line = w.coarseTime(p, line)
		}
		s.WriteString(word(line))
		s.WriteByte('\n')
	}
	return s.String()
}

// mentionsValue reports whether a text has a value of a buyer's in it.
func (w *world) mentionsValue(text string) bool {
	for v := range w.tokens {
		if strings.Contains(text, v) {
			return true
		}
	}
	return false
}

// coarseTime is an answer in words when it says how long a key of p's has left: the
// microseconds of pauses mustn't count.
func (w *world) coarseTime(p *pending, line string) string {
	n, err := strconv.ParseInt(line[1:], 10, 64)
	if err != nil || n <= 0 {
		return line
	}
	unit := time.Millisecond
	if upper(p.batch[0][0]) == "TTL" {
		unit = time.Second
	}
	for i := range w.states[p.server].entries {
		e := &w.states[p.server].entries[i]
		if left := time.Duration(n) * unit; e.TTL > 0 && p.about(e) && e.TTL > left-unit && e.TTL < left+unit {
			return ":" + w.grainInWords(w.grain(e.TTL))
		}
	}
	return line
}

func asksForTime(name string) bool {
	return strings.EqualFold(name, "PTTL") || strings.EqualFold(name, "TTL")
}

// keysOf are the bits of the keys that a pending message touches. A key with a
// random name has no bit of its own, as it has another name for each buyer.
func (w *world) keysOf(p *pending) uint64 {
	switch p.kind {
	case ofCommand:
		if p.underWatch() {
			return everyKey
		}
	case ofPause:
		return 0
	default:
		return inventoryBit
	}
	var bits uint64
	for _, args := range p.batch {
		bits |= keysOfCommand(args, func(key string) uint64 {
			if w.isRandom(key) {
				return everyKey
			}
			return keyBit(p.lane(), key)
		})
	}
	return bits
}

func keysOfCommand(args []string, bit func(key string) uint64) uint64 {
	switch upper(args[0]) {
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
			bits |= bit(k)
		}
		return bits
	case "SET", "SETNX", "GET", "GETDEL", "GETEX", "GETSET", "SETEX", "PSETEX", "EXPIRE", "PEXPIRE", "PERSIST", "TTL", "PTTL",
		"INCR", "DECR", "INCRBY", "HSET", "HGET", "HDEL", "HEXISTS", "HSETNX", "HINCRBY", "DELEX", "DELIFEQ", "CAS", "CAD",
		"EXSET", "EXGET", "EXCAS", "EXCAD", "EXSETVER":
		if len(args) > 1 {
			return bit(args[1])
		}
	case "DEL", "UNLINK", "EXISTS":
		var bits uint64
		for _, k := range args[1:] {
			bits |= bit(k)
		}
		return bits
	}
	return everyKey
}

// digestWords digests a command, with buyers exchanged.
func (w *world) digestWords(b *buyer, p *pending) {
	for _, t := range w.turns {
		v := newView().number(uint64(t.server(p.server)))
		for _, args := range p.batch {
			v = v.number(uint64(len(args)))
			for _, a := range args {
				if w.isRandom(a) {
					v = w.addWord(v, a, t)
				} else {
					v = v.word(b.inWords(a))
				}
			}
		}
		p.words[t] = v.A
	}
}
