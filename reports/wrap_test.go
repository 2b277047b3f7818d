package reports

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/oversell/oversell/internal/printable"
)

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		width int
		want  []string
	}{
		{"", 20, []string{"- "}},
		{"one two", 20, []string{"- one two"}},
		{"one two three", 9, []string{"- one two", "  three"}},
		{"0.212 s  A acquires", 14, []string{"- 0.212 s  A", "  acquires"}},
		{"a  b", 5, []string{"- a", "  b"}},
		{"abcdefghij", 6, []string{"- abcd", "  efgh", "  ij"}},
		{"ab cdefghij", 6, []string{"- ab", "  cdef", "  ghij"}},
		{"库存库存", 6, []string{"- 库存", "  库存"}},
		{"   indented", 20, []string{"-    indented"}},
		{strings.Repeat(" ", 30) + "far", 20, []string{"- far"}},
		{"库存", 3, []string{"- 库", "  存"}}, // what is wider than the line is still shown
	} {
		assert.Equal(t, c.want, wrap(c.text, "- ", "  ", c.width), "%q at %d", c.text, c.width)
	}
}

func TestWrapLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := printable.Line(strings.Join(rapid.SliceOfN(rapid.StringN(1, 40, -1), 0, 60).Draw(t, "words"), " "))
		width := rapid.IntRange(10, 120).Draw(t, "width")
		lines := wrap(text, "> ", "  ", width)
		var words strings.Builder
		for i, line := range lines {
			if w := printable.Width(line); w > width {
				t.Fatalf("%q is %d columns wide, not at most %d", line, w, width)
			}
			if i == 0 {
				line = strings.TrimPrefix(line, "> ")
			}
			words.WriteString(strings.ReplaceAll(line, " ", ""))
		}
		if want := strings.ReplaceAll(text, " ", ""); words.String() != want {
			t.Fatalf("%q became %q", want, words.String())
		}
	})
}
