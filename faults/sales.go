package faults

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/oversell/oversell/history"
)

// sales waits until others than the moment's purchase have sold some units, or
// all that there were.
type sales struct {
	*history.Watch
	want int
	all  bool // sold before
}

func (t Target) watchSales(want int) *sales {
	sold := 0
	s := &sales{want: want, Watch: t.History.Watch(func(e history.Event) bool {
		if e.Kind == history.Committed && e.Purchase != t.Moment.Purchase {
			sold++
		}
		return sold >= want || soldLast(e)
	})}
	s.all = slices.ContainsFunc(t.History.Events(), soldLast)
	return s
}

// soldLast reports whether nothing was left to sell after an event.
func soldLast(e history.Event) bool { return e.Kind == history.Committed && e.Units == 0 }

// during waits for span, and for the sales at most as long again, and says what
// came of it. Its only error is ctx's.
func (s *sales) during(ctx context.Context, span time.Duration) (what string, err error) {
	t := time.NewTimer(span)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	return s.within(ctx, span)
}

// within waits for the sales, at most for bound.
func (s *sales) within(ctx context.Context, bound time.Duration) (what string, err error) {
	if s.want == 0 {
		return "", ctx.Err()
	}
	var last history.Event
	if !s.all {
		bounded, cancel := context.WithTimeout(ctx, bound)
		defer cancel()
		last, err = s.Wait(bounded)
	}
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case s.all || err == nil && soldLast(last):
		return "others sold all that was left", nil
	case err != nil:
		return "the lock let nobody else sell meanwhile", nil
	}
	if s.want == 1 {
		return "somebody else sold a unit meanwhile", nil
	}
	return fmt.Sprintf("others sold %d units meanwhile", s.want), nil
}
