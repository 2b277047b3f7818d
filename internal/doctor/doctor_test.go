package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/internal/hint"
)

func says(lines ...Line) func(context.Context) []Line {
	return func(context.Context) []Line { return lines }
}

func TestExamineKeepsTheOrderAndFillsInNames(t *testing.T) {
	t.Parallel()
	// The first check only answers once the second one has been asked.
	asked := make(chan struct{})
	r := Examine(t.Context(), []Check{
		{Name: "a", Look: func(context.Context) []Line {
			<-asked
			return []Line{Found("here", nil), {Check: "a too", Status: Warn}}
		}},
		{Name: "b", Look: func(context.Context) []Line { close(asked); return []Line{Found("", errors.New("gone"))} }},
	})
	assert.Equal(t, []Line{
		{Check: "a", Status: OK, Text: "here"}, {Check: "a too", Status: Warn}, {Check: "b", Status: No, Text: "gone"},
	}, r.Lines)
}

func TestUsableNeedsRealServers(t *testing.T) {
	t.Parallel()
	yes, warned, no := says(Line{Status: OK}), says(Line{Status: Warn}), says(Line{Status: No}, Line{Status: OK})
	for _, tc := range []struct {
		name   string
		checks []Check
		want   bool
	}{
		{"none at all", nil, false},
		{"not there", []Check{{Look: no, Real: true}}, false},
		{"simulated", []Check{{Look: yes}}, false},
		{"there", []Check{{Look: no, Real: true}, {Look: yes, Real: true}}, true},
		{"there, with a warning", []Check{{Look: warned, Real: true}}, true},
		{"a check that says nothing", []Check{{Look: says(), Real: true}}, false},
	} {
		assert.Equal(t, tc.want, Examine(t.Context(), tc.checks).Usable, tc.name)
	}
}

func TestReportForPeopleAndPrograms(t *testing.T) {
	t.Parallel()
	r := Report{Lines: []Line{
		{Check: "docker backend", Status: No, Text: "no socket", Hint: "start it"},
		{Check: "machine", Status: OK, Text: "<2 CPUs>"},
	}}
	var b bytes.Buffer
	require.NoError(t, r.Text(&b))
	assert.Equal(t, "no    docker backend  no socket\n                      hint: start it\nok    machine         <2 CPUs>\n", b.String())
	b.Reset()
	require.NoError(t, r.JSON(&b))
	var back Report
	require.NoError(t, json.Unmarshal(b.Bytes(), &back))
	assert.Equal(t, r, back)
}

func TestFoundKeepsTheHint(t *testing.T) {
	t.Parallel()
	assert.Equal(t, Line{Status: No, Text: "down", Hint: "start it"}, Found("", hint.Wrap(errors.New("down"), "start it")))
}

func TestCarries(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		m      Machine
		buyers int
		most   int
		why    string
	}{
		{"by CPUs", Machine{CPUs: 2}, 200, 128, "128 at most, as 2 CPUs carry 64 each"},
		{"by memory", Machine{CPUs: 64, MemoryMB: 1000}, 200, 40, "40 at most, as each takes about 25 MB and 1000 MB are free"},
		{"by files", Machine{CPUs: 64, MemoryMB: 1 << 20, Files: 1024}, 200, 35,
			"35 at most, as 200 buyers need 2 descriptors each, every instance 16 more, and a process may have 1024 open"},
		{"too many buyers", Machine{Files: 256}, 200, 0,
			"0 at most, as 200 buyers need 2 descriptors each, every instance 16 more, and a process may have 256 open"},
		{"nothing known", Machine{}, 200, 1 << 30, "no limit is known"},
	} {
		most, why := tc.m.Carries(tc.buyers)
		assert.Equal(t, tc.most, most, tc.name)
		assert.Equal(t, tc.why, why, tc.name)
	}
}

func TestThisMachineCarriesAScenario(t *testing.T) {
	t.Parallel()
	m := Look()
	assert.Positive(t, m.CPUs)
	assert.Positive(t, m.Files)
	line := Limits(m, 1, 1).Look(t.Context())
	require.Len(t, line, 1)
	assert.Equal(t, OK, line[0].Status, line[0].Text)
	line = Limits(Machine{CPUs: 1}, 100, 200).Look(t.Context())
	assert.Equal(t, Warn, line[0].Status)
	assert.Contains(t, line[0].Hint, "64 at most, as 1 CPUs carry 64 each")
}

func TestAvailableMB(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 2, availableMB([]byte("MemTotal:  9999 kB\nMemAvailable:    2048 kB\n")))
	assert.Equal(t, 0, availableMB([]byte("MemAvailable:\n")))
	assert.Equal(t, 0, availableMB([]byte("MemAvailable: lots kB\n")))
	assert.Equal(t, 0, availableMB(nil))
}

func TestBinary(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	look := Binary("some-server", "install it").Look
	assert.Equal(t, []Line{{Status: No, Text: "not on PATH", Hint: "install it"}}, look(t.Context()))

	path := filepath.Join(dir, "some-server")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\necho 'Some server v=1.2.3 sha=0'\n"), 0o755))
	assert.Equal(t, []Line{{Status: OK, Text: path + ": version 1.2.3"}}, look(t.Context()))

	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\nexit 3\n"), 0o755))
	assert.Equal(t, No, look(t.Context())[0].Status)
	assert.Equal(t, "odd", versionIn("odd\nmore"))
}

func TestFolder(t *testing.T) {
	t.Parallel()
	good := Folder("runs", func(string) error { return nil }).Look(t.Context())
	assert.Equal(t, OK, good[0].Status)
	bad := Folder("runs", func(string) error { return errors.New("read-only") }).Look(t.Context())
	assert.Equal(t, Line{Status: No, Text: "runs can't be written: read-only", Hint: "choose another one with --dir"}, bad[0])
}
