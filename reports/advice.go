package reports

import (
	"fmt"
	"math"
	"time"

	"github.com/oversell/oversell/result"
)

// ttlPerP99 is how many times the P99 of the business call a TTL should last at
// least, as both incidents have taught.
const ttlPerP99 = 3

// Advice compares the lock's TTL with the calls that were measured, and says
// what would have helped. It is empty when no call came to its end.
func Advice(r result.Run) string {
	if r.Calls.Count == 0 || r.TTLMS <= 0 {
		return ""
	}
	p99, ttl := millis(r.Calls.P99MS), millis(r.TTLMS)
	text := fmt.Sprintf("the P99 of the calls was %s, %.2g x the TTL of %s.", p99, r.Calls.P99MS/r.TTLMS, ttl)
	enough := ttlPerP99*r.Calls.P99MS <= r.TTLMS
	switch {
	case enough:
		text += " The TTL is long enough for them: a longer one would have changed nothing here."
	default:
		text += fmt.Sprintf(" A TTL should be %d times that, %s at least", ttlPerP99, roundedUp(ttlPerP99*r.Calls.P99MS))
		if r.Renews {
			text += ", although this lock renews its key while a call lasts."
		} else {
			text += "; a watchdog that renews the key keeps others out for as long as the call lasts."
		}
	}
	if !r.Fenced {
		text += " A fence at the inventory refuses whoever was overtaken all the same, also after a pause or a lost master, where no TTL and no watchdog helps."
	}
	return text
}

// millis is a duration of so many milliseconds, to a tenth of one.
func millis(ms float64) time.Duration {
	return time.Duration(ms * float64(time.Millisecond)).Round(100 * time.Microsecond)
}

// roundedUp is a duration of at least so many milliseconds, in two digits.
func roundedUp(ms float64) time.Duration {
	unit := math.Pow(10, math.Floor(math.Log10(max(ms, 1)))-1)
	return time.Duration(math.Ceil(ms/unit-1e-9) * unit * float64(time.Millisecond)).Round(time.Microsecond)
}
