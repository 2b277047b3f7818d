package naive

import (
	"context"

	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/result"
)

// leakyWatchdog stops its watchdog when a release has removed the key, and only
// then. After a release that failed, the key is renewed for as long as the
// process lives; after one that found the key gone, renewals go on for nothing.
func leakyWatchdog() locks.Kind {
	return scheme{
		name: "leaky-watchdog", leaky: true, take: setNX, free: compareAndDelete,
		renew: func(ctx context.Context, d *dog) bool {
			_, _ = d.bounded(ctx)
			return true
		},
	}.kind(locks.Kind{
		Summary: "lua-release with a watchdog that goes on when the release didn't remove the key",
		Origin:  "watchdogs in the wild: an error on release leaves before the timer is stopped",
		// Not all that an owner check withstands: a key that is gone when it is
		// released, or a server that is down then, is what it leaks by.
		Withstands: append(locks.WithstoodByRenewal(), result.LateRelease, result.RepeatedRelease,
			result.HolderCrash, result.LostReply, result.Cancelled, result.Unavailable, result.Control),
	})
}
