package locks_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/internal/redistest"
	"github.com/oversell/oversell/locks"
)

const readOnly = redistest.Reply("READONLY You can't write against a read only replica.")

// answers is a try that gives one answer after the other, and the last one for ever.
func answers(as ...any) (try func(context.Context) (bool, error), asked *int) {
	asked = new(int)
	return func(context.Context) (bool, error) {
		a := as[min(*asked, len(as)-1)]
		*asked++
		if err, ok := a.(error); ok {
			return false, err
		}
		return a.(bool), nil
	}, asked
}

func TestPollUntilTrue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		try, asked := answers(false, readOnly, false, true)
		start := time.Now()
		require.NoError(t, locks.Poll(t.Context(), "k", locks.NewJitter(locks.Options{RetryEvery: time.Second}), try))
		require.Equal(t, 4, *asked)
		require.GreaterOrEqual(t, time.Since(start), 3*time.Second/2, "a pause after each of three")
		require.LessOrEqual(t, time.Since(start), 3*3*time.Second/2)
	})
}

func TestPollEndsInThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("the shop closes")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
		defer cancel()
		try, asked := answers(false, readOnly)
		start := time.Now()
		err := locks.Poll(ctx, "k", locks.NewJitter(locks.Options{RetryEvery: 400 * time.Millisecond}), try)
		require.Equal(t, time.Second, time.Since(start), "not a pause later")
		require.GreaterOrEqual(t, *asked, 2)
		require.ErrorIs(t, err, locks.ErrNotAcquired)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, cause)
		require.ErrorContains(t, err, `acquire "k"`)
		require.ErrorContains(t, err, "last answer: READONLY", "it says why there was nothing to be had")
	})
}

func TestPollOfATakenKeyHasNoLastAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		try, _ := answers(readOnly, false)
		err := locks.Poll(ctx, "k", locks.NewJitter(locks.Options{}), try)
		require.EqualError(t, err, `acquire "k": locks: not acquired: context deadline exceeded`)
	})
}

func TestPollReturnsWhatItCannotWaitOut(t *testing.T) {
	for _, c := range []struct {
		err      error
		definite bool
	}{
		{redistest.Reply("NOAUTH Authentication required."), true},
		{io.EOF, false},
		{context.DeadlineExceeded, false},
	} {
		try, asked := answers(c.err)
		err := locks.Poll(t.Context(), "k", locks.NewJitter(locks.Options{}), try)
		require.ErrorIs(t, err, c.err)
		require.Equal(t, 1, *asked)
		require.Equal(t, c.definite, errors.Is(err, locks.ErrNotAcquired), "%v", err)
	}
}

func TestJitterDrawsFromHalfToOneAndAHalf(t *testing.T) {
	for name, r := range map[string]*rand.Rand{"global": nil, "own": rand.New(rand.NewPCG(1, 2))} {
		j := locks.NewJitter(locks.Options{Rand: r})
		lo, hi := time.Hour, time.Duration(0)
		for range 1000 {
			d := j.Around(time.Second)
			lo, hi = min(lo, d), max(hi, d)
		}
		assert.GreaterOrEqual(t, lo, time.Second/2, name)
		assert.LessOrEqual(t, hi, time.Second*3/2, name)
		assert.Less(t, lo, time.Second*6/10, "%s: it uses the whole range", name)
		assert.Greater(t, hi, time.Second*14/10, "%s: it uses the whole range", name)
		assert.Zero(t, j.Around(0), name)
	}
}

func TestJitterRepeatsWithItsSeed(t *testing.T) {
	draw := func() (ds []time.Duration) {
		j := locks.NewJitter(locks.Options{Rand: rand.New(rand.NewPCG(7, 7))})
		for range 10 {
			ds = append(ds, j.Around(time.Second))
		}
		return ds
	}
	require.Equal(t, draw(), draw())
}

func TestJitterOwnRandIsSafeForConcurrentUse(t *testing.T) {
	j := locks.NewJitter(locks.Options{Rand: rand.New(rand.NewPCG(1, 1))})
	done := make(chan bool)
	for range 4 {
		go func() {
			for range 500 {
				j.Around(time.Second)
			}
			done <- true
		}()
	}
	for range 4 {
		<-done
	}
}

func TestCheckTTL(t *testing.T) {
	d, err := locks.CheckTTL("k", 1500*time.Microsecond)
	require.NoError(t, err)
	require.Equal(t, time.Millisecond, d, "rounded down: the server's may not be the longer one")
	for _, ttl := range []time.Duration{-1, 0, 999 * time.Microsecond} {
		_, err := locks.CheckTTL("k", ttl)
		require.ErrorIs(t, err, locks.ErrNotAcquired)
		require.ErrorContains(t, err, "millisecond")
	}
}
