package naive

import (
	"slices"

	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/result"
)

// failOpen would rather sell than wait: an error of the command that takes the
// key, a refusal as well as a server that doesn't answer, counts as the lock.
func failOpen() locks.Kind {
	return scheme{name: "fail-open", failOpen: true, take: setNX, free: compareAndDelete}.kind(locks.Kind{
		Summary: "lua-release to which an error of the acquiring command counts as the lock",
		Origin:  "locks in the wild: a cache that is down must not stop the shop",
		Withstands: slices.Concat(locks.WithstoodByOwnerCheck(),
			[]result.Hazard{result.HolderCrash, result.LostCommand, result.LostReply, result.Cancelled, result.Control}),
	})
}
