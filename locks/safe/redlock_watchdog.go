package safe

import "github.com/oversell/oversell/locks"

func redlockWatchdog() locks.Kind {
	return scheme{name: "redlock-watchdog", quorum: true, renews: true, by: always(newLua())}.kind(locks.Kind{
		Summary: "lua-watchdog on a majority of five independent masters",
		Origin:  "Redlock, the algorithm of the Redis documentation of distributed locks",
	})
}
