package checks

import (
	"math"
	"time"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/internal/stats"
	"github.com/oversell/oversell/result"
)

// Calls sums up the business calls that came to their end, as their instances
// measured them. A call in which its process died is not among them.
func Calls(h history.History) result.Calls {
	var took []time.Duration
	for _, e := range h.Events {
		if e.Kind == history.CallEnd {
			took = append(took, e.Took)
		}
	}
	return result.Calls{
		Count: len(took),
		P50MS: milliseconds(stats.Percentile(took, 50)),
		P99MS: milliseconds(stats.Percentile(took, 99)),
		MaxMS: milliseconds(stats.Percentile(took, 100)),
	}
}

// milliseconds to a tenth.
func milliseconds(d time.Duration) float64 {
	return math.Round(10*d.Seconds()*1000) / 10
}
