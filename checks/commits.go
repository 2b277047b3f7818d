package checks

import (
	"cmp"
	"slices"
	"time"

	"github.com/oversell/oversell/history"
)

// Commit is one order as it was written, together with the stock. A purchase
// reads the stock, and its commit writes one less over whatever is there by
// then.
type Commit struct {
	Purchase *Purchase // nil when the history doesn't have it
	Order    int       // its place among the orders, from 1
	At       time.Duration
	Read     int // the stock that the purchase had read
	Before   int // the stock that it overwrote
	After    int // the stock that it wrote
}

// Back is how many units came back on the shelf because the commit was based
// on an old reading. Over all commits it sums up to orders + left - initial,
// since every commit moves the stock by Back - 1. It is negative when a commit
// took more off the shelf than it sold.
func (c Commit) Back() int { return c.Read - c.Before }

// Stale reports whether the commit overwrote a stock that it had not read.
func (c Commit) Stale() bool { return c.Read != c.Before }

// readCommits replays the orders in the order in which the inventory has them.
// A history that ends before the orders were listed has only the commits that
// the instances know of.
func (t *Timeline) readCommits() {
	ps := t.ordered()
	stock := t.Plan.Stock
	t.Commits = make([]Commit, 0, len(ps))
	for i, p := range ps {
		c := commitOf(p, stock)
		c.Order = i + 1
		stock = c.After
		t.Commits = append(t.Commits, c)
	}
}

// ordered are the purchases that became orders, in commit order; nil stands
// for an order that no purchase of the history made.
func (t *Timeline) ordered() []*Purchase {
	var ps []*Purchase
	if len(t.Orders) > 0 {
		for _, o := range t.Orders {
			ps = append(ps, t.byID[o.Purchase])
		}
		return ps
	}
	for _, p := range t.Purchases {
		if p.Committed() {
			ps = append(ps, p)
		}
	}
	slices.SortStableFunc(ps, func(a, b *Purchase) int { return cmp.Compare(a.Commit.At, b.Commit.At) })
	return ps
}

// commitOf fills in what the history leaves out. before is the stock as the
// replay has it. A commit whose answer got lost is in the orders all the same,
// so it overwrote just that.
func commitOf(p *Purchase, before int) Commit {
	c := Commit{Purchase: p, Before: before, After: before - 1, Read: before}
	if p == nil {
		return c
	}
	switch {
	case p.Committed():
		c.At, c.Before, c.After = p.Commit.At, p.Commit.Before, p.Commit.Units
	case p.CommitStart != nil:
		c.At, c.After = p.CommitStart.At, p.CommitStart.Units
	case p.Begun != nil:
		c.At, c.After = p.Begun.At, p.Begun.Units-1
	}
	c.Read = c.After + 1
	return c
}

// back is a number of units that one stale commit put back on the shelf.
type back struct {
	commit int // index in Timeline.Commits
	units  int
}

// broughtBack lists the units that stale commits put back on the shelf, in
// commit order, without those that a later commit took off it again unsold.
// Together they are orders + left - initial, or none when that is negative.
func (t *Timeline) broughtBack() []back {
	var shelf []back
	missing := 0 // taken off the shelf, neither sold nor brought back
	for i, c := range t.Commits {
		n := c.Back()
		if n > 0 {
			filled := min(n, missing)
			missing -= filled
			if n > filled {
				shelf = append(shelf, back{commit: i, units: n - filled})
			}
		}
		for ; n < 0 && len(shelf) > 0; shelf = trimmed(shelf) {
			top := &shelf[len(shelf)-1]
			taken := min(-n, top.units)
			top.units -= taken
			n += taken
			if top.units > 0 {
				break
			}
		}
		if n < 0 {
			missing -= n
		}
	}
	return shelf
}

// trimmed drops the last entry when nothing of it is left.
func trimmed(shelf []back) []back {
	if n := len(shelf); n > 0 && shelf[n-1].units == 0 {
		return shelf[:n-1]
	}
	return shelf
}

// DoubleHolds counts the acquisitions that were made while another purchase was
// definitely inside.
func (t *Timeline) DoubleHolds() int { return len(doubleHolds(t)) }

// FenceRefused counts the commits that the fence turned away.
func (t *Timeline) FenceRefused() int { return len(t.refused()) }

// LostUpdates counts the commits that overwrote a stock they had not read.
func (t *Timeline) LostUpdates() int {
	n := 0
	for _, c := range t.Commits {
		if c.Stale() {
			n++
		}
	}
	return n
}

// refused are the purchases whose commit the fence turned away, in order of time.
func (t *Timeline) refused() []*Purchase {
	var ps []*Purchase
	for _, p := range t.Purchases {
		if p.Commit != nil && p.Commit.Kind == history.CommitRefused {
			ps = append(ps, p)
		}
	}
	slices.SortStableFunc(ps, func(a, b *Purchase) int { return cmp.Compare(a.Commit.At, b.Commit.At) })
	return ps
}
