package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// tailBlock is how much of a log is read at a time, from its end.
const tailBlock = 16 << 10

// tail returns up to n of the last lines of a file, oldest first, of what comes
// after its first bytes. A file that isn't there has no lines.
func tail(path string, after int64, n int) ([]string, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	var text string
	for end := size; end > after && strings.Count(text, "\n") <= n; {
		block := min(tailBlock, end-after)
		buf := make([]byte, block)
		if _, err := f.ReadAt(buf, end-block); err != nil {
			return nil, fmt.Errorf("read the log: %w", err)
		}
		text = string(buf) + text
		end -= block
	}
	text = strings.TrimSuffix(text, "\n")
	if text == "" || n <= 0 {
		return nil, nil
	}
	lines := strings.Split(text, "\n")
	return lines[max(0, len(lines)-n):], nil
}
