package process

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTail(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3*tailBlock)
	var numbers strings.Builder
	for i := range 10000 {
		numbers.WriteString(strconv.Itoa(i) + "\n")
	}
	for _, c := range []struct {
		name, text string
		after      int64
		n          int
		want       []string
	}{
		{"empty", "", 0, 3, nil},
		{"none wanted", "a\nb\n", 0, 0, nil},
		{"fewer than wanted", "a\nb\n", 0, 3, []string{"a", "b"}},
		{"as many as wanted", "a\nb\nc\n", 0, 3, []string{"a", "b", "c"}},
		{"more than wanted", "a\nb\nc\nd\n", 0, 3, []string{"b", "c", "d"}},
		{"an unfinished line", "a\nb", 0, 1, []string{"b"}},
		{"empty lines count", "a\n\n\n", 0, 2, []string{"", ""}},
		{"a line longer than a block", "a\n" + long + "\nb\n", 0, 2, []string{long, "b"}},
		{"many blocks", numbers.String(), 0, 2, []string{"9998", "9999"}},
		{"only what comes after", "old\nnew\n", 4, 3, []string{"new"}},
		{"nothing comes after", "old\n", 4, 3, nil},
	} {
		path := filepath.Join(t.TempDir(), "log")
		require.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
		got, err := tail(path, c.after, c.n)
		require.NoError(t, err, c.name)
		assert.Equal(t, c.want, got, c.name)
	}
	got, err := tail(filepath.Join(t.TempDir(), "absent"), 0, 3)
	require.NoError(t, err)
	assert.Nil(t, got)
}
