package checks

import (
	"fmt"
	"slices"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// fence checks the inventory's fence itself, where purchases use it: tokens of
// accepted commits never go back, and no commit is accepted that was begun
// before another purchase and sent after that one had its token.
//
// A fence that lets an old token through is a broken inventory, not a broken
// lock. Nothing in the stock of that run can be relied upon, even if it
// happens to come out even, so the verdict is a mismatch.
func fence() Check {
	return check(Check{
		Name:     "fence",
		Summary:  "tokens of accepted commits never go back",
		Property: result.Fencing,
	}, judgeFence)
}

func judgeFence(t *Timeline) []result.Finding {
	if !t.Plan.Fenced {
		return nil
	}
	var fs []result.Finding
	if f := tokensGoBack(t); f != nil {
		fs = append(fs, *f)
	}
	if f := overtakenTokens(t); f != nil {
		fs = append(fs, *f)
	}
	return fs
}

// tokensGoBack looks at the orders in the order in which they were committed.
func tokensGoBack(t *Timeline) *result.Finding {
	var newest *history.Event
	var events []int64
	var first string
	for _, o := range t.Orders {
		switch {
		case newest == nil && o.Token <= 0:
			first = fmt.Sprintf("order %s has no token", o.Purchase)
			events = append(events, o.N)
		case newest != nil && o.Token <= newest.Token:
			if first == "" {
				first = fmt.Sprintf("token %d of %s after token %d of %s", o.Token, buyerName(o.Instance, o.Buyer),
					newest.Token, buyerName(newest.Instance, newest.Buyer))
			}
			events = append(events, newest.N, o.N)
		default:
			newest = o
		}
	}
	if len(events) == 0 {
		return nil
	}
	slices.Sort(events)
	return &result.Finding{
		Property: result.Fencing,
		Verdict:  result.Mismatch,
		Text:     "the fence let an older token through: " + first,
		Events:   slices.Compact(events),
	}
}

// overtakenTokens looks for accepted commits that were sent when a newer token
// had certainly been issued already, whether or not it was ever used.
func overtakenTokens(t *Timeline) *result.Finding {
	var newest *history.Event // begun
	behind := make(map[string]*history.Event)
	var events []int64
	var first string
	for _, e := range t.Events {
		switch e.Kind {
		case history.Begun:
			if newest == nil || e.Token > newest.Token {
				newest = e
			}
		case history.CommitStart:
			if newest != nil && newest.Token > e.Token {
				behind[e.Purchase] = newest
			}
		case history.Committed:
			by := behind[e.Purchase]
			if by == nil {
				continue
			}
			if first == "" {
				first = fmt.Sprintf("token %d of %s was accepted at %s, although %s had begun with token %d at %s", e.Token,
					buyerName(e.Instance, e.Buyer), seconds(e.At), buyerName(by.Instance, by.Buyer), by.Token, seconds(by.At))
			}
			events = append(events, by.N, e.N)
		}
	}
	if len(events) == 0 {
		return nil
	}
	slices.Sort(events)
	return &result.Finding{
		Property: result.Fencing,
		Verdict:  result.Mismatch,
		Text:     "the fence let an older token through: " + first,
		Events:   slices.Compact(events),
	}
}
