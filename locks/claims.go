package locks

import "github.com/oversell/oversell/result"

// What kinds withstand follows from a few properties, and kinds that have the
// same property withstand the same. These lists share no hazard, so that a kind
// can join them.

// WithstoodByExpiry is what every kind withstands that takes a key and sets its
// expiry in one command: whatever is lost or dies, the key falls at its TTL.
func WithstoodByExpiry() []result.Hazard {
	return []result.Hazard{
		result.HolderCrash, result.LostCommand, result.LostReply, result.Cancelled, result.ServerDown, result.Unavailable,
		result.Control,
	}
}

// WithstoodByOwnerCheck is what a kind withstands that removes no key but its own.
func WithstoodByOwnerCheck() []result.Hazard {
	return []result.Hazard{result.LateRelease, result.RepeatedRelease, result.GoneAtRelease}
}

// WithstoodByRenewal is what a kind withstands that renews in time, and tries
// again in time when a renewal doesn't get through.
func WithstoodByRenewal() []result.Hazard {
	return []result.Hazard{result.SlowCall, result.LateRenewal, result.LostRenewal}
}

// WithstoodByOwnClock is what a kind withstands that tells its caller about the
// loss of its lock by its own clock, without having to reach the server.
func WithstoodByOwnClock() []result.Hazard {
	return []result.Hazard{result.Partition, result.FrozenServer}
}

// WithstoodByFence is what nothing but the inventory's fence withstands: the
// lock is in others' hands, and its holder can't know it in time.
func WithstoodByFence() []result.Hazard {
	return []result.Hazard{
		result.LostMaster, result.PausedHolder, result.LostData, result.ClockJump, result.Bypass,
	}
}
