package explore

import (
	"crypto/sha1"
	"encoding/hex"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oversell/oversell/cluster/embedded"
)

// memo remembers what scripts have come to. Setting up Lua takes the simulated
// server longer than all else together, and a schedule's scripts are nearly
// always some that were run before, with other random values. Only scripts are
// remembered whose outcome follows from which of their arguments and of the
// values on the server are the same.
type memo struct {
	texts    map[string]string // scripts that qualify, by digest
	digests  map[string]string // of those, by text
	prefixes map[string][]int  // of those that look at what values begin with, by digest: arguments that must be numbers
	known    map[string]effect
}

// effect is what a script has changed and answered.
type effect struct {
	reply   []byte
	deleted []string
	expires map[string]time.Duration
	puts    []put
}

// put is a string that a script has set, to one of its command's words.
type put struct {
	key  string
	word int
	ttl  time.Duration // 0 for none
}

// contentMatters finds scripts that look into values, at the time, or at chance.
var contentMatters = regexp.MustCompile(`(?i)ttl|time|random|tonumber|tostring|string|table|math|cjson|cmsgpack|struct|bit\.|[<>#+*/%]|\.\.|:\w+\(|\bfor\b|\bwhile\b`)

// Of that, these do no harm: numbers that are given, and beginnings of values,
// where it is known how much each two have in common.
var (
	givenNumber = regexp.MustCompile(`tonumber\(ARGV\[(\d)\]\)`)
	beginning   = regexp.MustCompile(`string\.sub\((?:KEYS|ARGV)\[\d\], *1, *\w+\)`)
)

var luaComment = regexp.MustCompile(`(?s)--\[\[.*?\]\]|--[^\n]*`)

func newMemo(scripts []string) *memo {
	m := &memo{texts: map[string]string{}, digests: map[string]string{}, prefixes: map[string][]int{}, known: map[string]effect{}}
	for _, text := range scripts {
		code := luaComment.ReplaceAllString(text, "")
		begins := beginning.MatchString(code)
		rest := beginning.ReplaceAllString(givenNumber.ReplaceAllString(code, ""), "")
		if contentMatters.MatchString(rest) {
			continue
		}
		sum := sha1.Sum([]byte(text))
		digest := hex.EncodeToString(sum[:])
		m.texts[digest], m.digests[text] = text, digest
		var numbers []int
		for _, n := range givenNumber.FindAllStringSubmatch(code, -1) {
			numbers = append(numbers, int(n[1][0]-'0'))
		}
		if begins || len(numbers) > 0 {
			m.prefixes[digest] = numbers
		}
	}
	return m
}

// maxMemo bounds what is remembered.
const maxMemo = 50_000

// script returns the digest of the script that a command runs, or the name of a
// command that costs as much. It is "" when it isn't remembered, or the server may
// not know it.
func (w *world) script(c *scriptCache, args []string) string {
	if w.memo == nil || len(args) < 2 {
		return ""
	}
	has := func(words ...string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return slices.Contains(words, strings.ToUpper(a)) })
	}
	switch name := upper(args[0]); name {
	case "EVALSHA":
		if text, ok := w.memo.texts[args[1]]; ok && (!c.forgot || c.loaded[text]) {
			return args[1]
		}
	case "EVAL":
		return w.memo.digests[args[1]]
	case "SET":
		if has("IFEQ", "IFNE") && !has("KEEPTTL") {
			return name
		}
	case "DELIFEQ", "DELEX", "CAD", "CAS": // it follows from which words and values are the same
		if !has("KEEPTTL") {
			return name
		}
	}
	return ""
}

// commonBeginnings says how much each two of some values have in common, when the
// script looks at that. It isn't ok when something that must be a number isn't.
func (w *world) commonBeginnings(digest string, args, values []string) (text string, ok bool) {
	numbers, begins := w.memo.prefixes[digest]
	if !begins {
		return "", true
	}
	keys, _ := strconv.Atoi(args[2])
	for _, n := range numbers {
		if at := 2 + keys + n; at >= len(args) || w.isRandom(args[at]) {
			return "", false
		}
	}
	var b strings.Builder
	for i, x := range values {
		for _, y := range values[:i] {
			n := 0
			for n < len(x) && n < len(y) && x[n] == y[n] {
				n++
			}
			b.WriteByte(' ')
			b.WriteString(strconv.Itoa(n))
		}
		b.WriteByte('/')
		b.WriteString(strconv.Itoa(len(x)))
	}
	return b.String(), true
}

// memoKey is the command and what is on the server, with random values replaced
// by which of them are the same. It is empty for what isn't remembered.
func (w *world) memoKey(p *pending) string {
	if len(p.batch) != 1 || p.conn.sess.Tracks() || w.namesMoment(p.batch[0]) {
		return ""
	}
	args := p.batch[0]
	digest := w.script(&w.states[p.server].scripts, args)
	if digest == "" {
		return ""
	}
	var b strings.Builder
	var seen []string
	word := func(s string) {
		if len(s) < minToken || w.constants[s] {
			b.WriteString(strconv.Quote(s))
			return
		}
		for i, o := range seen {
			if o == s {
				b.WriteString(strconv.Itoa(i))
				return
			}
		}
		b.WriteString(strconv.Itoa(len(seen)))
		seen = append(seen, s)
	}
	b.WriteString(digest)
	b.WriteString(strconv.FormatBool(p.conn.sess.RESP3()))
	for _, a := range args[2:] {
		b.WriteByte(' ')
		word(a)
	}
	for _, e := range w.states[p.server].entries {
		b.WriteByte('\n')
		b.WriteString(e.Key + " " + e.Type)
		for _, v := range e.Value {
			b.WriteByte(' ')
			word(v)
		}
	}
	common, ok := w.commonBeginnings(digest, args, seen)
	if !ok {
		return ""
	}
	b.WriteString(common)
	return b.String()
}

// recall does what a script did before, but for making the server know it.
func (w *world) recall(p *pending, key string) (reply []byte, ok bool) {
	if key == "" {
		return nil, false
	}
	e, ok := w.memo.known[key]
	if !ok {
		return nil, false
	}
	s := w.servers[p.server]
	for _, k := range e.deleted {
		s.Delete(k)
	}
	for k, d := range e.expires {
		s.Expire(k, d)
	}
	for _, put := range e.puts {
		set := []string{"SET", put.key, p.batch[0][put.word]}
		if put.ttl > 0 {
			set = append(set, "PX", strconv.FormatInt(put.ttl.Milliseconds(), 10))
		}
		w.scratch = p.conn.sess.Do(w.scratch[:0], set)
	}
	return e.reply, true
}

// remember keeps what a script has come to, unless it answered with a value or
// set what can't be set again.
func (w *world) remember(p *pending, key string, reply []byte, before []embedded.Entry) {
	if key == "" || len(w.memo.known) >= maxMemo || len(reply) > 32 || !strings.ContainsRune(":+_$", rune(reply[0])) || reply[0] == '$' && reply[1] != '-' {
		return
	}
	e := effect{reply: append([]byte(nil), reply...), expires: map[string]time.Duration{}}
	after := w.servers[p.server].Entries(nil)
	for _, old := range before {
		now := find(after, old.Key)
		switch {
		case now == nil:
			e.deleted = append(e.deleted, old.Key)
		case !now.Same(old):
			// It is put below.
		case now.TTL != old.TTL:
			e.expires[old.Key] = now.TTL
		case w.namesTime(p.batch[0], old.TTL):
			return // whether it was set to what it was can't be told
		}
	}
	for _, now := range after {
		if old := find(before, now.Key); old != nil && now.Same(*old) {
			continue
		}
		if now.Type != "string" || len(now.Value) != 1 || now.TTL%time.Millisecond != 0 || now.TTL > 0 && !w.namesTime(p.batch[0], now.TTL) {
			return
		}
		word := slices.Index(p.batch[0], now.Value[0])
		if word < 0 {
			return
		}
		e.puts = append(e.puts, put{now.Key, word, now.TTL})
	}
	w.memo.known[key] = e
}

// namesTime reports whether an argument is about d, in seconds or milliseconds.
func (w *world) namesTime(args []string, d time.Duration) bool {
	for _, a := range args {
		n, err := strconv.ParseInt(a, 10, 32)
		if err == nil && (w.grain(time.Duration(n)*time.Millisecond) == w.grain(d) || w.grain(time.Duration(n)*time.Second) == w.grain(d)) {
			return true
		}
	}
	return false
}
