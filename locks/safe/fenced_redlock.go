package safe

import "github.com/oversell/oversell/locks"

// fencedRedlock locks exactly as redlock-watchdog does, and the inventory
// refuses the write of a purchase that was overtaken.
func fencedRedlock() locks.Kind {
	return scheme{name: "fenced-redlock", quorum: true, renews: true, fenced: true, by: always(newLua())}.kind(locks.Kind{
		Summary: "redlock-watchdog, and the inventory refuses whoever was overtaken",
		Origin:  "fencing tokens, issued by the inventory: five masters have no counter in common",
	})
}
