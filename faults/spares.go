package faults

// Spares reports whether f leaves the lock's servers as they were, but for
// their data: the next run can use them. What isn't listed doesn't.
func Spares(f Fault) bool {
	switch f.(type) {
	case SlowCall, HoldOvertaker, HoldUntilNext, Outlast, Bypass, // nothing is done to servers
		KillInstance, PauseInstance, Cancel,
		Lose, Cut, DelayUntilTaken, RepeatRelease, Partition, SlowServers, // on the wire only
		Disconnect, Flush, FlushScripts: // which a new client can't tell from a new server
		return true
	}
	return false
}
