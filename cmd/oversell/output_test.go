package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/reports"
)

func TestParseOutputs(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	outs, err := h.parseOutputs([]string{"json=a=b.json", "text=-", "junit=./x/../y.xml"})
	require.NoError(t, err)
	require.Len(t, outs, 3)
	assert.Equal(t, "a=b.json", outs[0].path, "only the first equals sign counts")
	assert.Empty(t, outs[1].path, "a dash is stdout")
	assert.Equal(t, "y.xml", outs[2].path)

	for name, formats := range map[string][]reports.Format{"md": matrixFormats(), "markdown": reports.All()} {
		outs, err := outputsOf([]string{name}, formats)
		require.NoError(t, err, "both words are known everywhere")
		assert.Equal(t, "md", outs[0].format.Ext)
	}

	for _, tc := range []struct {
		given      []string
		text, hint string
	}{
		{[]string{"text", "json"}, "two outputs go to stdout: text and json", "give one of them another file, for example --output json=oversell.json"},
		{[]string{"text=x", "json=./x"}, "two outputs go to the file x: text and json", "give one of them another file, for example --output json=oversell.json"},
		{[]string{"json="}, `--output "json=" names no file`, "for example --output json=oversell.json"},
	} {
		_, err := h.parseOutputs(tc.given)
		assert.EqualError(t, err, tc.text)
		assert.Equal(t, tc.hint, hint.Of(err))
		assertCode(t, exitUsage, err)
	}
}

func TestCanWriteInLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, canWriteIn(filepath.Join(dir, "not", "there", "yet")))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func write(text string, err error) func(io.Writer) error {
	return func(w io.Writer) error {
		_, _ = io.WriteString(w, text)
		return err
	}
}

func TestWriteFileIsAllOrNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "new", "out.json")
	require.NoError(t, writeFile(path, write("one", nil)))
	boom := errors.New("boom")
	require.ErrorIs(t, writeFile(path, write("half of two", boom)), boom)
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "one", string(got), "what was there stays")
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, left, 1, "and no half file beside it")

	link := filepath.Join(dir, "link.json")
	require.NoError(t, os.Symlink(path, link))
	require.NoError(t, writeFile(link, write("two", nil)))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&os.ModeSymlink, "a link stays one")
	got, err = os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "two", string(got))
}

func TestWriteFileWritesToPipes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	read := make(chan string, 1)
	go func() {
		data, _ := os.ReadFile(path)
		read <- string(data)
	}()
	require.NoError(t, writeFile(path, write("through", nil)))
	assert.Equal(t, "through", <-read)
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.False(t, info.Mode().IsRegular(), "it is still a pipe")
}
