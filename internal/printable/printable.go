// Package printable makes strings of unknown origin safe to show to a person.
package printable

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/text"
)

// Line makes s fit for one line of a terminal. White space of every kind
// becomes a space. What can't be printed is shown as an escape: control
// characters, so that no name can move the cursor or change a colour; marks
// that reverse the direction of text; bytes that aren't UTF-8.
func Line(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteString(escape(rune(s[i])))
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case unicode.IsPrint(r):
			b.WriteString(s[i : i+size])
		default:
			b.WriteString(escape(r))
		}
		i += size
	}
	return b.String()
}

func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func escape(r rune) string {
	hex := strconv.FormatInt(int64(r), 16)
	switch {
	case r <= 0xff:
		return `\x` + zeros(2, hex)
	case r <= 0xffff:
		return `\u` + zeros(4, hex)
	default:
		return `\U` + zeros(8, hex)
	}
}

func zeros(width int, hex string) string {
	return strings.Repeat("0", max(0, width-len(hex))) + hex
}

// Width is the number of columns that s takes on a terminal.
func Width(s string) int { return text.StringWidthWithoutEscSequences(s) }

// Cut shortens s to at most cols columns and marks the cut with three dots.
func Cut(s string, cols int) string {
	if cols <= 0 {
		return ""
	}
	return text.Snip(s, cols, "...")
}

// Sentence makes s begin with a capital letter.
func Sentence(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return s
	}
	return string(unicode.ToUpper(first)) + s[size:]
}
