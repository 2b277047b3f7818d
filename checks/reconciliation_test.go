package checks

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

func TestReconciliationNamesOrdersWithoutCommit(t *testing.T) {
	t.Parallel()
	h := good()
	at(h, of(history.OrderFound, "1.2.1")).Purchase = "ghost"
	fs := judge("reconciliation", h)
	require.Len(t, fs, 2)
	assert.Equal(t, "1 order in the inventory without a commit in the history: ghost", fs[0].Text)
	assert.Equal(t, "1 commit in the history without an order in the inventory: 1.2.1", fs[1].Text)
	for _, f := range fs {
		assert.Equal(t, result.Mismatch, f.Verdict)
		assert.Len(t, f.Events, 1)
	}
}

func TestReconciliationKnowsRefusedCommits(t *testing.T) {
	t.Parallel()
	h := good()
	at(h, of(history.Committed, "1.2.1")).Kind = history.CommitRefused
	f := only(t, "reconciliation", h)
	assert.Equal(t, result.Mismatch, f.Verdict)
	assert.Contains(t, f.Text, "without a commit in the history: 1.2.1")
}

// TestReconciliationAllowsForTheDead: what an instance did just before it was
// killed may be in the inventory and not in the history.
func TestReconciliationAllowsForTheDead(t *testing.T) {
	t.Parallel()
	h := without(good(), func(e history.Event) bool {
		return e.Purchase == "1.2.1" && e.Kind != history.OrderFound
	})
	assert.Contains(t, only(t, "reconciliation", h).Text, "without a commit in the history: 1.2.1")
	e := at(h, of(history.SoldOut, "1.1.2"))
	*e = history.Event{N: e.N, At: e.At, Kind: history.InstanceExited, Instance: 1, Text: "signal: killed"}
	assert.Empty(t, judge("reconciliation", h))
}

func TestReconciliationSeesDoubleOrders(t *testing.T) {
	t.Parallel()
	h := good()
	at(h, of(history.OrderFound, "1.2.1")).Purchase = "2.1.1"
	fs := judge("reconciliation", h)
	require.Len(t, fs, 2)
	assert.Equal(t, "1 order more than once in the inventory: 2.1.1", fs[0].Text)
	assert.Len(t, fs[0].Events, 2)
}

func TestReconciliationProvesEveryUnit(t *testing.T) {
	t.Parallel()
	h := incident()
	f := only(t, "reconciliation", h)
	assert.Equal(t, result.Oversold, f.Verdict)
	assert.Equal(t, "5 sold of 3: 2 too many", f.Text)
	traces := Reconstruct(h).Traces()
	require.Len(t, traces, 2)
	for _, tr := range traces {
		assert.NotEmpty(t, tr.Events)
		assert.Subset(t, f.Events, tr.Events)
	}
	assert.IsIncreasing(t, f.Events)
}
