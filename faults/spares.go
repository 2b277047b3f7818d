package faults

// Spares reports whether f leaves a lock's real masters as they were once it
// is healed, but for their data: the next run can use them. What isn't listed doesn't.
func Spares(f Fault) bool {
	switch f.(type) {
	case SlowCall, HoldOvertaker, HoldUntilNext, Outlast, Bypass, // nothing is done to servers
		KillInstance, PauseInstance, Cancel,
		Lose, Cut, DelayUntilTaken, RepeatRelease, Partition, SlowServers, // on the wire only
		Disconnect, Flush, FlushScripts, ClockJump, // which a new client can't tell from a new server
		FreezeServer, KillServer, RestartServer, // it answers again, with all that it had or with nothing
		Evict, FillMemory: // the limit and what reached it are gone
		return true
	}
	return false
}
