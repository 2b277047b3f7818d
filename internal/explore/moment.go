package explore

import (
	"strconv"
	"time"
)

// Locks that have a key expire at a point in time, as with PXAT, send it by the
// bubble's clock, which goes on from schedule to schedule. In words, such a point is
// how far it is from the schedule's start: when it was sent first, and how far it was
// then, both in grains. Put together before they are rounded, the microseconds of
// pauses would decide which of two grains it is.

// moment reads a point in time, in seconds or milliseconds, not far from the
// schedule.
func (w *world) moment(arg string) (since time.Duration, ok bool) {
	if len(arg) < 9 || len(arg) > 13 || w.start.IsZero() {
		return 0, false
	}
	n, err := strconv.ParseInt(arg, 10, 64)
	if err != nil {
		return 0, false
	}
	at := time.UnixMilli(n)
	if len(arg) < 12 {
		at = time.Unix(n, 0)
	}
	since = at.Sub(w.start)
	return since, since > -farAway && since < farAway
}

// farAway is beyond every time that a lock is held for.
const farAway = 24 * time.Hour

// inWords is an argument that doesn't depend on chance, in words that don't depend
// on when the schedule began.
func (w *world) inWords(arg string) string {
	since, ok := w.moment(arg)
	if !ok {
		return arg
	}
	return w.grainInWords(w.grain(since))
}

func (w *world) grainInWords(grains uint64) string {
	return "@" + (time.Duration(grains) * w.coarse()).String()
}

// inWords is the same for an argument that b has sent.
func (b *buyer) inWords(arg string) string {
	if grains, ok := b.moments[arg]; ok {
		return b.w.grainInWords(grains)
	}
	return b.w.inWords(arg)
}

// noteMoments notes when b sends points in time. Called with w.mu held.
func (b *buyer) noteMoments(args []string) {
	for _, a := range args {
		since, ok := b.w.moment(a)
		if _, known := b.moments[a]; ok && !known {
			b.moments[a] = b.w.now() + b.w.grain(since-time.Since(b.w.start))
		}
	}
}

// namesMoment reports whether an argument is a point in time.
func (w *world) namesMoment(args []string) bool {
	for _, a := range args {
		if _, ok := w.moment(a); ok {
			return true
		}
	}
	return false
}

// awaitWholeSecond lets time pass until a second begins. Points in time are sent in
// whole seconds or milliseconds, so else it would depend on when a schedule begins
// how long its keys last.
func awaitWholeSecond() {
	now := time.Now()
	time.Sleep(now.Truncate(time.Second).Add(time.Second).Sub(now))
}
