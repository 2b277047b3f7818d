package reports_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/reports"
	"github.com/oversell/oversell/result"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestFormatsAreDescribedAndUnique(t *testing.T) {
	t.Parallel()
	word := regexp.MustCompile(`^[a-z]+$`)
	seen := make(map[string]bool)
	for _, f := range reports.All() {
		assert.Regexp(t, word, f.Name)
		assert.Regexp(t, word, f.Ext)
		assert.NotEmpty(t, f.Summary, f.Name)
		assert.NotContains(t, f.Summary, "\n", f.Name)
		assert.False(t, seen[f.Name], "%s is listed twice", f.Name)
		seen[f.Name] = true

		found, ok := reports.Find(f.Name)
		require.True(t, ok, f.Name)
		assert.Equal(t, f.Summary, found.Summary)
	}
	_, ok := reports.Find("Text")
	assert.False(t, ok)
}

func TestEveryFormatKeepsTheContract(t *testing.T) {
	t.Parallel()
	for _, f := range reports.All() {
		for _, c := range cases() {
			t.Run(f.Name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				before := cases() // a second, equal copy
				first := write(t, f, c.runs, reports.Options{})
				assert.Equal(t, runsOf(before, c.name), c.runs, "the input was changed")
				assert.Equal(t, first, write(t, f, c.runs, reports.Options{}), "the second time differs")
				assert.True(t, utf8.ValidString(first))
				if first != "" || f.Each == nil { // a line for each run is no line for no run
					assert.Equal(t, byte('\n'), first[len(first)-1], "no final newline")
				}
				assertGolden(t, goldenName(f, c.name), withoutShell(first))
			})
		}
	}
}

// goldenName is the file that holds what f makes of a case.
func goldenName(f reports.Format, c string) string {
	if f.Name == "trace" { // it shares its extension
		return c + ".trace." + f.Ext
	}
	return c + "." + f.Ext
}

// What is written run by run is what is written in one go.
func TestFormatsThatCanBeFollowed(t *testing.T) {
	t.Parallel()
	followed := 0
	for _, f := range reports.All() {
		if f.Each == nil {
			continue
		}
		followed++
		for _, c := range cases() {
			var buf bytes.Buffer
			for _, r := range c.runs {
				require.NoError(t, f.Each(&buf, r, reports.Options{}))
			}
			assert.Equal(t, write(t, f, c.runs, reports.Options{}), buf.String(), "%s/%s", f.Name, c.name)
		}
	}
	assert.Positive(t, followed)
}

func TestEveryFormatReportsTheWritersError(t *testing.T) {
	t.Parallel()
	for _, f := range reports.All() {
		for _, c := range cases() {
			if f.Each != nil && len(c.runs) == 0 {
				continue // nothing is written at all
			}
			err := f.Write(fullDisk{}, c.runs, reports.Options{})
			assert.ErrorIs(t, err, errFull, "%s/%s", f.Name, c.name)
		}
	}
}

func TestTwoReportsAtOnce(t *testing.T) {
	t.Parallel()
	runs := []result.Run{naive(), safe()}
	for range 4 {
		for _, f := range reports.All() {
			t.Run(f.Name, func(t *testing.T) {
				t.Parallel()
				assert.NotEmpty(t, write(t, f, runs, reports.Options{Color: true, Width: 80}))
			})
		}
	}
}

var errFull = errors.New("disk full")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func write(t *testing.T, f reports.Format, runs []result.Run, opts reports.Options) string {
	t.Helper()
	var buf bytes.Buffer
	require.NoError(t, f.Write(&buf, runs, opts))
	return buf.String()
}

// withoutShell leaves out what all HTML pages have alike: style and script.
var shells = regexp.MustCompile(`(?s)<style>.*?</style>|<script>.*</script>|content="default-src[^"]*"`)

func withoutShell(page string) string {
	if !strings.HasPrefix(page, "<!doctype html>") {
		return page
	}
	return shells.ReplaceAllString(page, "")
}

func runsOf(all []testCase, name string) []result.Run {
	for _, c := range all {
		if c.name == name {
			return c.runs
		}
	}
	return nil
}

func assertGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run go test ./reports -update to write it")
	assert.Equal(t, string(want), got)
}
