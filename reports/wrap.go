package reports

import (
	"strings"
	"unicode/utf8"

	"github.com/oversell/oversell/internal/printable"
)

// wrap breaks text into lines of at most width columns, the first after the
// indent first, the others after next. Spaces inside a line stay as they are,
// so that times keep their columns. A word that is wider than a line is split.
func wrap(text, first, next string, width int) []string {
	var lines []string
	line, empty := first, true
	for _, w := range words(text) {
		gap, word := w.gap, w.word
		if !empty && printable.Width(line+gap+word) > width {
			lines, line, empty = append(lines, line), next, true
		}
		if empty && (len(lines) > 0 || len(line)+len(gap) >= width) {
			gap = "" // only the first line keeps its indent, if it leaves room
		}
		line += gap
		for {
			head := fitting(line, word, width)
			if head == word {
				break
			}
			lines, line, word = append(lines, line+head), next, word[len(head):]
		}
		line, empty = line+word, false
	}
	return append(lines, line)
}

// spaced is a word and the spaces before it.
type spaced struct{ gap, word string }

func words(text string) []spaced {
	var out []spaced
	for rest := strings.TrimRight(text, " "); rest != ""; {
		word := strings.TrimLeft(rest, " ")
		gap := rest[:len(rest)-len(word)]
		end := strings.IndexByte(word, ' ')
		if end < 0 {
			end = len(word)
		}
		out = append(out, spaced{gap, word[:end]})
		rest = word[end:]
	}
	return out
}

// fitting is the longest beginning of word that still fits after line, and at
// least its first character.
func fitting(line, word string, width int) string {
	if printable.Width(line+word) <= width {
		return word
	}
	for end := range word {
		_, size := utf8.DecodeRuneInString(word[end:])
		if end > 0 && printable.Width(line+word[:end+size]) > width {
			return word[:end]
		}
	}
	return word
}
