package explore

import (
	"crypto/sha1"
	"encoding/hex"
	"regexp"
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
	texts   map[string]string // scripts that qualify, by digest
	digests map[string]string // of those, by text
	known   map[string]effect
}

// effect is what a script has changed and answered.
type effect struct {
	reply   []byte
	deleted []string
	expires map[string]time.Duration
}

// contentMatters finds scripts that look into values, at the time, or at chance.
var contentMatters = regexp.MustCompile(`(?i)ttl|time|random|tonumber|tostring|string|table|math|cjson|cmsgpack|struct|bit\.|[<>#+*/%]|\.\.|:\w+\(|\bfor\b|\bwhile\b`)

var luaComment = regexp.MustCompile(`(?s)--\[\[.*?\]\]|--[^\n]*`)

func newMemo(scripts []string) *memo {
	m := &memo{texts: map[string]string{}, digests: map[string]string{}, known: map[string]effect{}}
	for _, text := range scripts {
		if !contentMatters.MatchString(luaComment.ReplaceAllString(text, "")) {
			sum := sha1.Sum([]byte(text))
			digest := hex.EncodeToString(sum[:])
			m.texts[digest], m.digests[text] = text, digest
		}
	}
	return m
}

// maxMemo bounds what is remembered.
const maxMemo = 50_000

// script returns the digest of the script that a command runs, "" when it isn't
// remembered, or the server may not know it.
func (w *world) script(args []string) string {
	if w.memo == nil || len(args) < 2 {
		return ""
	}
	switch strings.ToUpper(args[0]) {
	case "EVALSHA":
		if text, ok := w.memo.texts[args[1]]; ok && (!w.forgot || w.loaded[text]) {
			return args[1]
		}
	case "EVAL":
		return w.memo.digests[args[1]]
	}
	return ""
}

// memoKey is the command and what is on the server, with random values replaced
// by which of them are the same. It is empty for what isn't remembered.
func (w *world) memoKey(p *pending) string {
	if len(p.batch) != 1 {
		return ""
	}
	args := p.batch[0]
	digest := w.script(args)
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
	return e.reply, true
}

// remember keeps what a script has come to, unless it answered with a value or
// changed one.
func (w *world) remember(p *pending, key string, reply []byte, before []embedded.Entry) {
	if key == "" || len(w.memo.known) >= maxMemo || len(reply) > 32 || reply[0] != ':' && reply[0] != '+' && reply[0] != '_' {
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
			return
		case now.TTL != old.TTL:
			e.expires[old.Key] = now.TTL
		case w.namesTime(p.batch[0], old.TTL):
			return // whether it was set to what it was can't be told
		}
	}
	if len(after) > len(before)-len(e.deleted) {
		return
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
