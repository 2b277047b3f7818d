package safe

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// Half of the masters answer yes, others no, and the last is silent: waiting for
// it would keep the half from everybody else.
func TestASplitVoteIsGivenUpSoon(t *testing.T) {
	yes, no, lost := vote{yes: true}, vote{}, vote{err: errors.New("no answer")}
	for name, c := range map[string]struct {
		votes []vote
		split time.Duration
		waits time.Duration
		why   error
	}{
		"split":                  {[]vote{yes, no, yes, no}, 6 * time.Millisecond, 6 * time.Millisecond, errSplit},
		"split, one is lost":     {[]vote{yes, no, lost}, 6 * time.Millisecond, 6 * time.Millisecond, errSplit},
		"nobody else has any":    {[]vote{yes, yes}, 6 * time.Millisecond, time.Second, context.DeadlineExceeded},
		"few have answered":      {[]vote{yes, no}, 6 * time.Millisecond, time.Second, context.DeadlineExceeded},
		"a renewal waits":        {[]vote{yes, no, yes, no}, 0, time.Second, context.DeadlineExceeded},
		"decided":                {[]vote{yes, no, yes, yes}, 6 * time.Millisecond, 0, nil},
		"decided for somebody":   {[]vote{no, no, no}, 6 * time.Millisecond, 0, nil},
		"everybody has answered": {[]vote{yes, no, yes, no, lost}, 6 * time.Millisecond, 0, lost.err},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := &quorum{holds: make([]hold, 5), need: 3}
				votes := make(chan vote, len(c.votes))
				for _, v := range c.votes {
					votes <- v
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				began := time.Now()
				tally, heard := q.count(ctx, votes, c.split)
				assert.Equal(t, c.waits, time.Since(began))
				assert.Len(t, heard, len(c.votes))
				assert.ErrorIs(t, tally.why, c.why)
			})
		})
	}
}
