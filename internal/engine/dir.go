package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/result"
)

// ResultFile is the run's outcome within its directory.
const ResultFile = "result.json"

// newRunDir makes the directory of a run.
func newRunDir(base, scenario, lock string, now time.Time) (string, error) {
	return NewDir(base, scenario+"-"+lock, now)
}

// NewDir makes BASE/<stamp>-<name>, with a number behind it when somebody else
// had the same idea, and points BASE/latest at it. Its errors carry a hint.
func NewDir(base, name string, now time.Time) (string, error) {
	if err := os.MkdirAll(base, 0o755); err != nil {
		return "", hint.Wrap(fmt.Errorf("make the directory for runs: %w", err), "choose another one with --dir")
	}
	stem := now.Format("20060102-150405") + "-" + name
	for i := 1; ; i++ {
		name := stem
		if i > 1 {
			name = fmt.Sprintf("%s-%d", stem, i)
		}
		err := os.Mkdir(filepath.Join(base, name), 0o755)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", hint.Wrap(fmt.Errorf("make the run's directory: %w", err), "choose another place with --dir")
		}
		pointLatest(base, name)
		return filepath.Join(base, name), nil
	}
}

// pointLatest is best effort: a file system without symbolic links has no
// runs/latest, and the run is none the worse for it.
func pointLatest(base, name string) {
	tmp := filepath.Join(base, ".latest-"+name)
	if os.Symlink(name, tmp) == nil {
		if os.Rename(tmp, filepath.Join(base, "latest")) != nil {
			_ = os.Remove(tmp)
		}
	}
}

// saveResult writes DIR/result.json.
func saveResult(r result.Run) error {
	data, err := json.MarshalIndent(result.NewDocument([]result.Run{r}), "", "  ")
	if err != nil {
		return fmt.Errorf("encode the result: %w", err)
	}
	if err := os.WriteFile(filepath.Join(r.Dir, ResultFile), append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("save the result: %w", err)
	}
	return nil
}
