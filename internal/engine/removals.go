package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/oversell/oversell/cluster"
)

// removals removes servers whose run is over while the next run starts its own:
// most of a removal is waiting. Safe for concurrent use.
type removals struct {
	all  sync.WaitGroup
	mu   sync.Mutex
	errs []error
}

// remove begins to remove c, within cleanTimeout and whatever else ends. What
// doesn't work is for wait to say.
func (r *removals) remove(c *cluster.Cluster) {
	if c == nil {
		return
	}
	r.all.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), cleanTimeout)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.errs = append(r.errs, fmt.Errorf("remove the servers: %w", err))
		}
	})
}

// wait returns when every removal has come to its end.
func (r *removals) wait() error {
	r.all.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.errs...)
}
