// Package stats says what a number of trials allows one to say.
package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Confidence is the level of every interval that is printed.
const Confidence = 0.95

// Rate is how often something happened in a number of trials.
type Rate struct {
	Hits, Trials int
}

// Interval returns the exact two-sided interval of Clopper and Pearson
// (Biometrika 26, 1934) for the probability behind the rate, at Confidence.
// Without trials it is all of [0, 1].
func (r Rate) Interval() (low, high float64) {
	half := (1 - Confidence) / 2
	k, n := float64(r.Hits), float64(r.Trials)
	low, high = 0, 1
	if r.Hits > 0 {
		low = quantile(half, k, n-k+1)
	}
	if r.Hits < r.Trials {
		high = quantile(1-half, k+1, n-k)
	}
	return low, high
}

func quantile(p, a, b float64) float64 {
	return distuv.Beta{Alpha: a, Beta: b}.Quantile(p)
}

// Percentile returns the p-th percentile of values by nearest rank: the
// smallest value that at least p percent of them don't exceed. It is 0 without
// values. It doesn't change their order.
func Percentile[T cmp.Ordered](values []T, p float64) T {
	var none T
	if len(values) == 0 {
		return none
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// String never says "never": "0 of 300: at most 1.2 % at 95 %", or "3 of 10:
// 30 %, between 6.7 % and 65 % at 95 %".
func (r Rate) String() string {
	low, high := r.Interval()
	at := percent(Confidence)
	switch {
	case r.Trials == 0:
		return "no trials"
	case r.Hits == 0:
		return fmt.Sprintf("0 of %d: at most %s at %s", r.Trials, percent(high), at)
	case r.Hits == r.Trials:
		return fmt.Sprintf("%d of %d: at least %s at %s", r.Hits, r.Trials, percent(low), at)
	}
	return fmt.Sprintf("%d of %d: %s, between %s and %s at %s",
		r.Hits, r.Trials, percent(float64(r.Hits)/float64(r.Trials)), percent(low), percent(high), at)
}

func percent(p float64) string {
	if p < 0.1 && p > 0 {
		return fmt.Sprintf("%.1f %%", 100*p)
	}
	return fmt.Sprintf("%.0f %%", 100*p)
}
