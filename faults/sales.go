package faults

import (
	"context"
	"fmt"
	"time"

	"github.com/oversell/oversell/history"
)

// sales waits until others than the moment's purchase have sold some units.
type sales struct {
	*history.Watch
	want int
}

func (t Target) watchSales(want int) *sales {
	sold := 0
	return &sales{want: want, Watch: t.History.Watch(func(e history.Event) bool {
		if e.Kind == history.Committed && e.Purchase != t.Moment.Purchase {
			sold++
		}
		return sold >= want
	})}
}

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
	bounded, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	_, err = s.Wait(bounded)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "the lock let nobody else sell meanwhile", nil
	}
	if s.want == 1 {
		return "somebody else sold a unit meanwhile", nil
	}
	return fmt.Sprintf("others sold %d units meanwhile", s.want), nil
}
