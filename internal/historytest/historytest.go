// Package historytest has histories for tests: recorded ones, and ones that are
// written by hand.
package historytest

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// The recorded runs: the scenario ttl-expiry on real servers, with a small
// stock, under the naive and the safe lock.
const (
	Naive = "ttl-expiry-naive"
	Safe  = "ttl-expiry-safe"
)

//go:embed testdata
var recorded embed.FS

// Recorded is a run that really happened.
func Recorded(t testing.TB, name string) (history.History, result.Run) {
	t.Helper()
	var h history.History
	require.NoError(t, json.Unmarshal(file(t, name, history.PlanFile), &h.Plan))
	var err error
	h.Events, err = history.Read(bytes.NewReader(events(t, name)))
	require.NoError(t, err)
	var doc result.Document
	require.NoError(t, json.Unmarshal(file(t, name, "result.json"), &doc))
	require.Len(t, doc.Runs, 1)
	return h, doc.Runs[0]
}

// Folder makes a run's folder out of a recorded run and returns its path.
func Folder(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.Mkdir(dir, 0o755))
	for _, f := range []string{history.PlanFile, "result.json"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, f), file(t, name, f), 0o644))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, history.EventsFile), events(t, name), 0o644))
	return dir
}

func file(t testing.TB, name, f string) []byte {
	t.Helper()
	data, err := recorded.ReadFile("testdata/" + name + "/" + f)
	require.NoError(t, err)
	return data
}

func events(t testing.TB, name string) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(file(t, name, history.EventsFile+".gz")))
	require.NoError(t, err)
	data, err := io.ReadAll(z)
	require.NoError(t, err)
	return data
}
