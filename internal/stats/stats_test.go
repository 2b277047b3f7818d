package stats_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"github.com/oversell/oversell/internal/stats"
)

// The bounds are those of R's binom.test; at the ends they have a closed form,
// 1 - 0.025^(1/n) and 0.025^(1/n).
func TestIntervalsAreThoseOfTheTables(t *testing.T) {
	for _, c := range []struct {
		r         stats.Rate
		low, high float64
	}{
		{stats.Rate{Hits: 3, Trials: 10}, 0.06673951, 0.6524529},
		{stats.Rate{Hits: 1, Trials: 10}, 0.002528579, 0.4450161},
		{stats.Rate{Hits: 50, Trials: 100}, 0.3983211, 0.6016789},
		{stats.Rate{Hits: 0, Trials: 300}, 0, 1 - math.Pow(0.025, 1.0/300)},
		{stats.Rate{Hits: 10, Trials: 10}, math.Pow(0.025, 0.1), 1},
		{stats.Rate{}, 0, 1},
	} {
		low, high := c.r.Interval()
		require.InDelta(t, c.low, low, 1e-6, "%+v", c.r)
		require.InDelta(t, c.high, high, 1e-6, "%+v", c.r)
	}
}

func TestRateInWords(t *testing.T) {
	require.Equal(t, "0 of 300: at most 1.2 % at 95 %", stats.Rate{Trials: 300}.String())
	require.Equal(t, "10 of 10: at least 69 % at 95 %", stats.Rate{Hits: 10, Trials: 10}.String())
	require.Equal(t, "3 of 10: 30 %, between 6.7 % and 65 % at 95 %", stats.Rate{Hits: 3, Trials: 10}.String())
	require.Equal(t, "no trials", stats.Rate{}.String())
}

// At the lower bound so many hits, or more, have a chance of alpha/2, and at
// the upper bound so many, or fewer: that is the interval's definition.
func TestIntervalMeetsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 500).Draw(t, "trials")
		k := rapid.IntRange(1, n-1).Draw(t, "hits")
		low, high := stats.Rate{Hits: k, Trials: n}.Interval()
		half := (1 - stats.Confidence) / 2
		more := 1 - distuv.Binomial{N: float64(n), P: low}.CDF(float64(k-1))
		fewer := distuv.Binomial{N: float64(n), P: high}.CDF(float64(k))
		require.InDelta(t, half, more, 1e-6)
		require.InDelta(t, half, fewer, 1e-6)
	})
}
