package checks

import (
	"fmt"
	"slices"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// reconciliation counts what was sold against what there was, and compares the
// inventory's orders with the commits that the instances made.
func reconciliation() Check {
	return check(Check{
		Name:     "reconciliation",
		Summary:  "orders and stock left add up to the initial stock",
		Property: result.Reconciliation,
	}, judgeReconciliation)
}

func judgeReconciliation(t *Timeline) []result.Finding {
	if t.Counted == nil {
		return []result.Finding{{
			Property: result.Reconciliation,
			Verdict:  result.Inconclusive,
			Text:     "the inventory was never counted after the load",
			Events:   []int64{},
		}}
	}
	var fs []result.Finding
	for _, judge := range []func(*Timeline) *result.Finding{stockAddsUp, ordersListed, ordersUnique, ordersCommitted, commitsOrdered} {
		if f := judge(t); f != nil {
			fs = append(fs, *f)
		}
	}
	return fs
}

// mismatch is a finding about the inventory, proven by events.
func mismatch(text string, events []int64) *result.Finding {
	slices.Sort(events)
	return &result.Finding{
		Property: result.Reconciliation,
		Verdict:  result.Mismatch,
		Text:     text,
		Events:   slices.Compact(events),
	}
}

// stockAddsUp compares the sums, and traces every unit too many.
func stockAddsUp(t *Timeline) *result.Finding {
	sold, left, stock := t.Sold(), t.Left(), t.Plan.Stock
	events := []int64{t.Counted.N}
	for _, tr := range t.traces() {
		events = append(events, tr.Events...)
	}
	switch over := sold + left - stock; {
	case sold > stock:
		f := mismatch(fmt.Sprintf("%d sold of %d: %d too many", sold, stock, sold-stock), events)
		f.Verdict = result.Oversold
		if left != 0 {
			f.Text += fmt.Sprintf(", and %d left", left)
		}
		return f
	case over > 0:
		return mismatch(fmt.Sprintf("%d sold and %d left of %d: %d too many", sold, left, stock, over), events)
	case over < 0:
		return mismatch(fmt.Sprintf("%d sold and %d left of %d: %d missing", sold, left, stock, -over), events)
	default:
		return nil
	}
}

// ordersListed compares the number of orders with their list.
func ordersListed(t *Timeline) *result.Finding {
	if t.Counted.Count == len(t.Orders) {
		return nil
	}
	return mismatch(fmt.Sprintf("the inventory counted %s and listed %d", counted(t.Counted.Count, "order"), len(t.Orders)),
		[]int64{t.Counted.N})
}

// ordersUnique looks for purchases with more than one order.
func ordersUnique(t *Timeline) *result.Finding {
	first := make(map[string]*history.Event, len(t.Orders))
	var ids []string
	var events []int64
	for _, o := range t.Orders {
		if seen := first[o.Purchase]; seen != nil {
			ids = append(ids, o.Purchase)
			events = append(events, seen.N, o.N)
			continue
		}
		first[o.Purchase] = o
	}
	if len(ids) == 0 {
		return nil
	}
	return mismatch(fmt.Sprintf("%s more than once in the inventory: %s", counted(len(ids), "order"), listed(ids, maxIDs)), events)
}

// maxIDs is how many ids a finding's text names; its events name all.
const maxIDs = 5

// ordersCommitted looks for orders that nobody committed. A commit whose
// answer got lost may be there, and so may whatever an instance did just
// before it died: its last events died with it.
func ordersCommitted(t *Timeline) *result.Finding {
	var ids []string
	var events []int64
	for _, o := range t.Orders {
		p := t.byID[o.Purchase]
		switch {
		case p == nil || p.CommitStart == nil && p.Commit == nil:
			if t.Death(o.Instance) != nil {
				continue
			}
		case p.Commit == nil || p.Commit.Kind != history.CommitRefused:
			continue
		}
		ids = append(ids, o.Purchase)
		events = append(events, o.N)
	}
	if len(ids) == 0 {
		return nil
	}
	return mismatch(fmt.Sprintf("%s in the inventory without a commit in the history: %s", counted(len(ids), "order"),
		listed(ids, maxIDs)), events)
}

// commitsOrdered looks for commits that were acknowledged and left no order.
func commitsOrdered(t *Timeline) *result.Finding {
	var ids []string
	var events []int64
	for _, p := range t.Purchases {
		if p.Committed() && p.Order == nil {
			ids = append(ids, p.ID)
			events = append(events, p.Commit.N)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return mismatch(fmt.Sprintf("%s in the history without an order in the inventory: %s", counted(len(ids), "commit"),
		listed(ids, maxIDs)), events)
}
