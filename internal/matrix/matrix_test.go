package matrix_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/internal/matrix"
	"github.com/oversell/oversell/result"
)

func small() *matrix.Matrix {
	m := matrix.New(
		[]matrix.Lock{
			{Name: "setnx-expire-del", Alias: "naive", Group: "naive", Broken: true},
			{Name: "leaky-watchdog", Group: "naive", Broken: true},
			{Name: "fenced", Alias: "safe", Group: "safe"},
		},
		[]matrix.Scenario{
			{Name: "sentinel-failover", Hazard: result.LostMaster, Shape: "sentinel"},
			{Name: "ttl-expiry", Hazard: result.SlowCall, Shape: "single"},
			{Name: "short-calls", Hazard: result.Control, Shape: "single"},
		}, []string{""})
	m.Backend, m.Dir, m.Command, m.Whole = "docker", "runs/x-matrix", "oversell run --all --seed 7", true
	m.Options = json.RawMessage(`{}`)
	return m
}

func outcome(expected result.Expectation, v result.Verdict) result.Run {
	return result.Run{
		Server: "Redis 7.0.15", Expected: expected, Verdict: v, Gate: expected.Judge(v), Dir: "runs/x", Command: "oversell run x",
		Story: []string{"a long story"}, Findings: []result.Finding{{Property: result.Exclusion, Text: "two inside", Events: []int64{1}}},
	}
}

// full is small with every cell played as it should be.
func full() *matrix.Matrix {
	m := small()
	for _, c := range m.Cells {
		expected, v := result.ExpectNotOK, result.Oversold
		if c.Lock == "fenced" || c.Scenario == "short-calls" || c.Lock == "leaky-watchdog" && c.Scenario == "ttl-expiry" {
			expected, v = result.ExpectOK, result.OK
		}
		c.Finish(outcome(expected, v))
	}
	return m
}

func TestShapesAreLeftForLast(t *testing.T) {
	t.Parallel()
	var order []string
	for _, c := range small().Cells {
		order = append(order, c.Scenario+" "+c.Lock)
	}
	require.Len(t, order, 9)
	assert.Equal(t, "ttl-expiry setnx-expire-del", order[0])
	assert.Equal(t, "sentinel-failover fenced", order[8], "the sentinels come last")
	assert.Equal(t, "sentinel-failover", small().Scenarios[0].Name, "and are shown where they were")
}

func TestAVerdictFinishesACell(t *testing.T) {
	t.Parallel()
	c := &matrix.Cell{}
	assert.False(t, c.Finished())
	c.Finish(outcome(result.ExpectOK, result.Inconclusive))
	assert.False(t, c.Finished(), "nothing was concluded")
	assert.Nil(t, c.Run.Story, "that is in the run's own folder")
	assert.Nil(t, c.Run.Findings[0].Events)
	c.Failed = "no Docker"
	c.Finish(outcome(result.ExpectOK, result.Oversold))
	assert.True(t, c.Finished(), "a violation is never played again")
	assert.Empty(t, c.Failed)
	assert.True(t, (&matrix.Cell{Skipped: "no module"}).Finished())
	assert.False(t, (&matrix.Cell{Failed: "no Docker"}).Finished())
}

func TestTheGateWorksBothWays(t *testing.T) {
	t.Parallel()
	cell := func(m *matrix.Matrix, lock string) *matrix.Cell { return m.Cell("ttl-expiry", lock, "") }
	for name, tc := range map[string]struct {
		change func(m *matrix.Matrix)
		want   result.Gate
	}{
		"as claimed":          {func(*matrix.Matrix) {}, result.Pass},
		"a safe lock broke":   {func(m *matrix.Matrix) { cell(m, "fenced").Finish(outcome(result.ExpectOK, result.Oversold)) }, result.Fail},
		"a naive one didn't":  {func(m *matrix.Matrix) { cell(m, "setnx-expire-del").Finish(outcome(result.ExpectNotOK, result.OK)) }, result.Fail},
		"nothing concluded":   {func(m *matrix.Matrix) { cell(m, "fenced").Finish(outcome(result.ExpectOK, result.Inconclusive)) }, result.GateUnresolved},
		"a cell broke down":   {func(m *matrix.Matrix) { *cell(m, "fenced") = matrix.Cell{Failed: "no Docker"} }, result.GateUnresolved},
		"one is to come":      {func(m *matrix.Matrix) { *cell(m, "fenced") = matrix.Cell{} }, result.GateUnresolved},
		"one can't be played": {func(m *matrix.Matrix) { *cell(m, "fenced") = matrix.Cell{Skipped: "no module"} }, result.Pass},
		"none can be played": {func(m *matrix.Matrix) {
			for _, c := range m.Cells {
				*c = matrix.Cell{Skipped: "no module"}
			}
		}, result.GateUnresolved},
	} {
		m := full()
		tc.change(m)
		assert.Equal(t, tc.want, m.Judge(), name)
	}
}

func TestABrokenLockHasToBeCaughtSomewhere(t *testing.T) {
	t.Parallel()
	m := full()
	for _, c := range m.Cells {
		if c.Lock == "leaky-watchdog" {
			c.Finish(outcome(result.ExpectOK, result.OK))
		}
	}
	assert.Equal(t, []string{"leaky-watchdog"}, m.Uncaught())
	assert.Equal(t, result.Fail, m.Judge())
	m.Whole = false
	assert.Empty(t, m.Uncaught(), "a part of the scenarios need not catch it")
	assert.Equal(t, result.Pass, m.Judge())
	m.Whole = true
	m.Cell("short-calls", "leaky-watchdog", "").Run = nil
	assert.Empty(t, m.Uncaught(), "not as long as one is still to be played")
}

func TestText(t *testing.T) {
	t.Parallel()
	m := full()
	for _, name := range []string{"setnx-expire-del", "leaky-watchdog"} {
		c := m.Cell("sentinel-failover", name, "")
		c.Run, c.Skipped = nil, "the lock doesn't run on the shape sentinel"
	}
	m.Cell("short-calls", "fenced", "").Finish(outcome(result.ExpectOK, result.Stalled))
	m.Judge()
	var b bytes.Buffer
	require.NoError(t, m.Text(&b, 0, nil))
	assert.Equal(t, `naive locks, Redis 7.0.15
             setnx-      leaky-
scenario     expire-del  watchdog
-----------  ----------  --------
ttl-expiry   oversold    ok
short-calls  ok          ok

safe locks, Redis 7.0.15
scenario           fenced
-----------------  ---------
sentinel-failover  ok
ttl-expiry         ok
short-calls        stalled !

short-calls, fenced: stalled, expected ok
  exclusion: two inside
  Files: runs/x
  To repeat: oversell run x

3 locks x 3 scenarios on docker: 9 cells, 7 played, 2 skipped, 1 not as expected; 0s.
  - is a cell that can't be played; why is below
  ! is a verdict that the lock's claims don't allow
  setnx-expire-del, leaky-watchdog, 2 skipped: the lock doesn't run on the shape sentinel

Gate: FAIL — 1 of 7 cells didn't come out as the locks claim.

To repeat:
oversell run --all --seed 7
`, b.String())

	b.Reset()
	require.NoError(t, m.Text(&b, 30, func(v result.Verdict, word string) string { return "<" + word + ">" }))
	assert.Equal(t, 2, strings.Count(b.String(), "naive locks"), "one below the other where there is no room beside it")
	assert.Contains(t, b.String(), "<stalled !>")
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, full().Markdown(&b))
	assert.Contains(t, b.String(), "**safe** on Redis 7.0.15:\n\n| scenario | hazard | `fenced` |\n| --- | --- | --- |\n| `sentinel-failover` | lost-master | ok |\n")
	assert.Contains(t, b.String(), "| `ttl-expiry` | slow-call | **oversold** | ok |\n")
}

func TestReadsBackWhatWasWritten(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	m := full()
	m.Judge()
	require.NoError(t, m.JSON(&b))
	back, err := matrix.Read(b.Bytes())
	require.NoError(t, err)
	back.Options, m.Options = nil, nil // indented anew
	assert.Equal(t, m.Count(), back.Count())
	assert.Equal(t, m.Runs()[3].Verdict, back.Runs()[3].Verdict)
	assert.Equal(t, m.Scenarios, back.Scenarios)

	for _, bad := range []string{"", "{}", `{"schema":"oversell.matrix/v2"}`, `{"schema":"oversell.matrix/v1","cells":[null]}`} {
		_, err := matrix.Read([]byte(bad))
		assert.ErrorContains(t, err, "read the matrix: ", bad)
	}
}
