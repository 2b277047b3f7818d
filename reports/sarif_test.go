package reports_test

import (
	"testing"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/reports"
	"github.com/oversell/oversell/result"
)

func scan(t *testing.T, runs ...result.Run) *sarif.Run {
	t.Helper()
	doc, err := sarif.FromString(write(t, reports.SARIF(), runs, reports.Options{}))
	require.NoError(t, err)
	require.Len(t, doc.Runs, 1)
	return doc.Runs[0]
}

func TestSARIFHasGatesThatArentMet(t *testing.T) {
	t.Parallel()
	assert.Empty(t, scan(t, naive(), safe()).Results, "a lock that broke as expected raises no alert")

	broken := with(naive(), func(r *result.Run) { r.Expected, r.Gate = result.ExpectOK, result.Fail })
	run := scan(t, broken, notProvoked(), inconclusive())
	require.Len(t, run.Results, 3)
	for i, want := range []struct{ rule, level string }{{"oversold", "error"}, {"survived", "error"}, {"inconclusive", "warning"}} {
		r := run.Results[i]
		assert.Equal(t, want.rule, *r.RuleID)
		assert.Equal(t, want.rule, *run.Tool.Driver.Rules[r.RuleIndex].ID)
		assert.Equal(t, want.level, r.Level)
		assert.Len(t, r.Locations, 1, "code scanning on GitHub wants a place")
	}
	first := run.Results[0]
	assert.Contains(t, *first.Message.Text, "ttl-expiry: naive was expected to come out ok and oversold: 137 sold of 100")
	assert.Contains(t, *first.Message.Text, "To repeat: "+repeat)
	place := first.Locations[0].PhysicalLocation
	assert.Equal(t, "runs/20250101-120000-ttl-expiry-naive/history.jsonl", *place.ArtifactLocation.URI)
	assert.Equal(t, 801, *place.Region.StartLine, "the worst finding's first event is a line of the history")
	assert.Len(t, first.RelatedLocations, 7)
	assert.Equal(t, repeat, *run.Invocations[0].CommandLine)
}

func TestSARIFFingerprintsLast(t *testing.T) {
	t.Parallel()
	broken := with(naive(), func(r *result.Run) { r.Expected, r.Gate = result.ExpectOK, result.Fail })
	later := with(broken, func(r *result.Run) { r.Dir, r.Seed, r.Sold, r.Findings = "runs/other", 7, 140, nil })
	other := with(broken, func(r *result.Run) { r.Scenario = "flushed" })
	got := scan(t, broken, later, other).Results
	assert.Equal(t, got[0].PartialFingerprints, got[1].PartialFingerprints)
	assert.NotEqual(t, got[0].PartialFingerprints, got[2].PartialFingerprints)
	assert.Equal(t, 1, *got[1].Locations[0].PhysicalLocation.Region.StartLine)
}

func TestSARIFBaseline(t *testing.T) {
	t.Parallel()
	var states []string
	suppressed := 0
	for _, r := range scan(t, sinceBefore()...).Results {
		states = append(states, *r.BaselineState)
		suppressed += len(r.Suppressions)
	}
	assert.Equal(t, []string{"new", "new", "unchanged"}, states)
	assert.Equal(t, 1, suppressed)
}

func TestSARIFPathsAreAddresses(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]string{
		"runs/a b":    "runs/a%20b/history.jsonl",
		"/tmp/r%/x":   "file:///tmp/r%25/x/history.jsonl",
		"a:b":         "./a:b/history.jsonl",
		"runs/<x>?#&": "runs/%3Cx%3E%3F%23&/history.jsonl",
	} {
		r := with(notProvoked(), func(r *result.Run) { r.Dir = dir })
		assert.Equal(t, want, *scan(t, r).Results[0].Locations[0].PhysicalLocation.ArtifactLocation.URI, dir)
	}
}
