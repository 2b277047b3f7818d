package naive

import (
	"context"
	"slices"

	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/result"
)

// watchdogNoRetry ends its watchdog at the first renewal that fails, and tells
// nobody: the key expires during the call.
func watchdogNoRetry() locks.Kind {
	return scheme{
		name: "watchdog-no-retry", take: setNX, free: compareAndDelete,
		renew: func(ctx context.Context, d *dog) bool {
			held, err := d.bounded(ctx)
			return held && err == nil
		},
	}.kind(locks.Kind{
		Summary: "lua-release with a watchdog that one failed renewal ends, silently",
		Origin:  "watchdogs in the wild: timers that are set anew only after a success",
		Withstands: slices.Concat(locks.WithstoodByExpiry(), locks.WithstoodByOwnerCheck(),
			[]result.Hazard{result.SlowCall}),
	})
}
