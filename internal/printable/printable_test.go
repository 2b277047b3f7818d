package printable_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/oversell/oversell/internal/printable"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                      "",
		"fenced (safe) ~":       "fenced (safe) ~",
		"\x1b[31mred\x1b[0m":    `\x1b[31mred\x1b[0m`,
		"a\nb\tc\r\nd":          "a b c  d",
		"bell\a null\x00":       `bell\x07 null\x00`,
		"\u202egpj.exe":         `\u202egpj.exe`,
		"C1 \u009b31m":          `C1 \x9b31m`,
		"bad \xff\xc3(":         `bad \xff\xc3(`,
		"line\u2028separator":   "line separator",
		"no\u00a0break":         "no break",
		"库存 überzählig":         "库存 überzählig",
		"a true \ufffd stays":   "a true \ufffd stays",
		"tag \U000e0041 hidden": `tag \U000e0041 hidden`,
	} {
		assert.Equal(t, want, printable.Line(in))
	}
}

func TestLineIsAlwaysPrintable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		out := printable.Line(in)
		for _, r := range out {
			if !unicode.IsPrint(r) {
				t.Fatalf("%q lets %U through", out, r)
			}
		}
		if printable.Line(out) != out {
			t.Fatalf("%q changes when it is made printable again", out)
		}
	})
}

func TestCut(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "naive", printable.Cut("naive", 5))
	assert.Equal(t, "n...", printable.Cut("naive", 4))
	assert.Equal(t, "..", printable.Cut("naive", 2))
	assert.Equal(t, "", printable.Cut("naive", 0))
	assert.Equal(t, "库...", printable.Cut("库存库存", 6))
	assert.Equal(t, 40, printable.Width(printable.Cut(strings.Repeat("x", 10_000), 40)))
}

func TestSentence(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{"": "", "oversold": "Oversold", "Ok": "Ok", "öffnet": "Öffnet", "库存": "库存"} {
		assert.Equal(t, want, printable.Sentence(given))
	}
}
