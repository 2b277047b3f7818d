package locks

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// DefaultRetryEvery is the mean pause between two attempts to acquire when
// Options don't say.
const DefaultRetryEvery = 20 * time.Millisecond

// Jitter draws pauses, so that waiters who were turned away together don't come
// back together. Safe for concurrent use, as long as nothing else draws from
// the same Options.Rand.
type Jitter struct {
	mean time.Duration
	mu   sync.Mutex // guards rand
	rand *rand.Rand
}

// NewJitter makes the Jitter that opts describe.
func NewJitter(opts Options) *Jitter {
	j := &Jitter{mean: opts.RetryEvery, rand: opts.Rand}
	if j.mean <= 0 {
		j.mean = DefaultRetryEvery
	}
	return j
}

// Around draws from half to one and a half of mean.
func (j *Jitter) Around(mean time.Duration) time.Duration {
	if mean <= 0 {
		return 0
	}
	if j.rand == nil {
		return mean/2 + time.Duration(rand.Int64N(int64(mean)+1))
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return mean/2 + time.Duration(j.rand.Int64N(int64(mean)+1))
}

// Pause blocks for one pause, or until ctx ends.
func (j *Jitter) Pause(ctx context.Context) {
	t := time.NewTimer(j.Around(j.mean))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// Poll calls try until it says true, with pauses, and then returns nil. False
// means that someone else has the key: try again. An error that the server
// gives for now (see RefusedForNow) means the same.
//
// ErrNotAcquired is returned when ctx ends between two tries, together with
// ctx's error, and when the server refuses for good, together with its reply.
// Any other error of try leaves the outcome unknown, and is returned at once.
func Poll(ctx context.Context, key string, j *Jitter, try func(context.Context) (bool, error)) error {
	var last error
	for {
		if ctx.Err() != nil {
			return notAcquired(ctx, key, last)
		}
		ok, err := try(ctx)
		switch {
		case err == nil && ok:
			return nil
		case err == nil, RefusedForNow(err):
			last = err
		case Refused(err):
			return fmt.Errorf("acquire %q: %w: the server refuses: %w", key, ErrNotAcquired, err)
		default:
			return fmt.Errorf("acquire %q: outcome unknown: %w", key, err)
		}
		j.Pause(ctx)
	}
}

// notAcquired says why the waiting ended, and what the server said last if it
// was anything but "taken".
func notAcquired(ctx context.Context, key string, last error) error {
	why := Ended(ctx)
	if last != nil {
		why = fmt.Errorf("%w, last answer: %w", why, last)
	}
	return fmt.Errorf("acquire %q: %w: %w", key, ErrNotAcquired, why)
}

// Ended is the error of an ended context together with its cause.
func Ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == err {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// CheckTTL returns ttl in whole milliseconds, rounded down, since that is what
// Redis counts in. A shorter one is refused with ErrNotAcquired: nothing was sent.
func CheckTTL(key string, ttl time.Duration) (time.Duration, error) {
	if ttl < time.Millisecond {
		return 0, fmt.Errorf("acquire %q: %w: a TTL of %v is shorter than the millisecond that Redis counts in",
			key, ErrNotAcquired, ttl)
	}
	return ttl.Truncate(time.Millisecond), nil
}
