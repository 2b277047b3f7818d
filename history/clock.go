package history

import (
	"time"

	"golang.org/x/sys/unix"
)

// Clock tells the time since a run's start, in nanoseconds. Safe for
// concurrent use.
type Clock func() time.Duration

// Monotonic reads CLOCK_MONOTONIC, which every process of one host shares.
func Monotonic() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("history: read the monotonic clock: " + err.Error())
	}
	return time.Duration(ts.Nano())
}

// Since returns the clock of a run whose start was read from Monotonic, here
// or in another process of this host.
func Since(start time.Duration) Clock {
	return func() time.Duration { return Monotonic() - start }
}
