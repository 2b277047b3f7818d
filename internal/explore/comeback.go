package explore

import "github.com/oversell/oversell/history"

// Where buyers are told of changes, one for whom nothing is on its way needn't be
// about to come back: it may wait to be told. And one that has something on its way
// needn't wait for that: its lock may go on with what it has given up on. So it is
// by what the purchase says that it is known whether it pauses.

// pausesAfter reports whether a purchase pauses between two attempts once it has
// told of this.
func pausesAfter(k history.Kind, before bool) bool {
	switch k {
	case history.AcquireStart:
		return false
	case history.AcquireRefused, history.AcquireUnknown, history.Released, history.ReleaseNotHeld, history.ReleaseUnknown:
		return true
	}
	return before
}

// mayPause reports whether b may be about to come back by itself.
func (b *buyer) mayPause() bool {
	if b.w.tracks() {
		return b.pausing
	}
	return !b.waits()
}

// cameBack reports whether b has come to a new command since it had so many
// arrivals. Where buyers are told of changes, it may have come to one and turned
// away from it at once, and its lock may go on with what it doesn't wait for.
func (b *buyer) cameBack(arrivals int) bool {
	return !b.alive() || b.arrivals != arrivals && !(b.pausing && b.w.tracks())
}
