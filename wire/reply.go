package wire

import (
	"bytes"
	"strconv"
	"strings"
)

const (
	maxText  = 200 // bytes of a reply that a person reads
	maxShown = 8   // elements of an aggregate that a person reads
)

// readReply describes a frame by its head, from its value on: attributes
// before it are left out. size is the frame's bytes so far.
func readReply(head []byte, size int64) Reply {
	r, _ := readValue(head, maxDepth)
	r.Size = int(size)
	if line := lineOf(head); len(line) > 1 && line[0] == '$' && !r.Nil {
		if n, err := strconv.Atoi(string(line[1:])); err == nil {
			r.Size = len(line) + n + 4
		}
	}
	return r
}

// readValue describes the value at the beginning of b, and returns what is
// behind it; nil when b ends within the value.
func readValue(b []byte, depth int) (Reply, []byte) {
	line := lineOf(b)
	if len(line) == 0 || depth == 0 {
		return Reply{}, nil
	}
	r := Reply{Type: line[0]}
	text, rest := line[1:], b[min(len(line)+2, len(b)):]
	switch r.Type {
	case '+', ':', ',', '(':
		r.Text = shortText(text)
	case '-':
		r.Text, r.Err = shortText(text), true
	case '_':
		r.Text, r.Nil = "(nil)", true
	case '#':
		r.Text = strconv.FormatBool(string(text) == "t")
	case '$', '!', '=', '*', '%', '~', '>':
		return readSized(r, text, rest, depth)
	default:
		return r, nil
	}
	return r, rest
}

// readSized goes on behind the length of a string or an aggregate.
func readSized(r Reply, length, rest []byte, depth int) (Reply, []byte) {
	if string(length) == "?" {
		r.Text = "(streamed)"
		return r, nil
	}
	n, err := strconv.Atoi(string(length))
	if err != nil || n < 0 {
		r.Text, r.Nil = "(nil)", true
		return r, rest
	}
	switch r.Type {
	case '$', '!', '=':
		payload := rest[:min(n, len(rest))]
		if r.Type == '=' && len(payload) >= 4 {
			payload = payload[4:] // the format, as in "txt:"
		}
		r.Text, r.Err = shortText(payload), r.Type == '!'
		if n > len(rest)-2 {
			return r, nil
		}
		return r, rest[n+2:]
	}
	r.Text, rest = listText(rest, n, r.Type == '%', depth)
	return r, rest
}

// listText is the short form of an aggregate: [a b c], or {a: b} for a map.
func listText(b []byte, n int, isMap bool, depth int) (string, []byte) {
	open, end, total := "[", "]", n
	if isMap {
		open, end, total = "{", "}", 2*n
	}
	var text strings.Builder
	text.WriteString(open)
	for i := range total {
		if b == nil || i == maxShown {
			text.WriteString(" ...")
			b = nil
			break
		}
		if i > 0 {
			text.WriteString(map[bool]string{true: ": ", false: " "}[isMap && i%2 == 1])
		}
		var v Reply
		v, b = readValue(b, depth-1)
		text.WriteString(v.Text)
	}
	text.WriteString(end)
	return shortText([]byte(text.String())), b
}

// element returns b from element i of the aggregate at its beginning on, nil
// when there is no such element.
func element(b []byte, i int) []byte {
	line := lineOf(b)
	if len(line) == 0 || (line[0] != '*' && line[0] != '~') {
		return nil
	}
	if n, err := strconv.Atoi(string(line[1:])); err != nil || i < 0 || i >= n {
		return nil
	}
	b = b[min(len(line)+2, len(b)):]
	for ; i > 0 && b != nil; i-- {
		b = behindValue(b)
	}
	return b
}

// behindValue returns what is behind the value at the beginning of b, nil when
// b ends within it.
func behindValue(b []byte) []byte {
	var s scanner
	n, done, err := s.scan(b)
	if !done || err != nil {
		return nil
	}
	return b[n:]
}

// firstWord returns the first element of an aggregate when it is a string:
// what a push, or a message in RESP2, is about.
func firstWord(b []byte) string {
	line := lineOf(b)
	if len(line) < 2 || (line[0] != '*' && line[0] != '>') {
		return ""
	}
	r, _ := readValue(b[min(len(line)+2, len(b)):], 1)
	if r.Type != '$' && r.Type != '+' {
		return ""
	}
	return r.Text
}

// lineOf returns b up to its first CRLF, or "" when there is none.
func lineOf(b []byte) []byte {
	i := bytes.Index(b, []byte("\r\n"))
	if i < 0 {
		if len(b) > 0 && (b[0] == '+' || b[0] == '-') {
			return b // a line that is longer than the head
		}
		return nil
	}
	return b[:i]
}

// shortText cuts a text to what a person would read.
func shortText(b []byte) string {
	if len(b) > maxText {
		return strings.ToValidUTF8(string(b[:maxText]), "") + "..."
	}
	return string(b)
}

// judge decides what Granted says, where the command decides how its reply is
// to be read. head is the reply's value. With at >= 0 it is a transaction's
// reply, and the element at decides.
func (r Reply) judge(g grant, at int, head []byte) Reply {
	switch {
	case r.Err, r.Type == '+' && r.Text == "QUEUED":
		r.verdict = refused
	case at >= 0:
		inner := element(head, at)
		reply, _ := readValue(inner, maxDepth)
		r.verdict = verdictOf(inner != nil && reply.judge(g, -1, inner).Granted())
	case g == byNil:
		r.verdict = verdictOf(r.Nil)
	case g == byFirst, g == byScript && r.Type == '*':
		first, _ := readValue(element(head, 0), maxDepth)
		r.verdict = verdictOf(first.Granted() && (g == byScript || first.Text == "OK"))
	}
	return r
}

// verdict overrules what a reply's shape says about Granted.
type verdict int8

const (
	byShape verdict = iota
	granted
	refused
)

func verdictOf(yes bool) verdict {
	if yes {
		return granted
	}
	return refused
}
