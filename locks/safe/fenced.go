package safe

import "github.com/oversell/oversell/locks"

// fenced locks exactly as lua-watchdog does. What it adds is outside of the
// lock: the inventory refuses the write of a purchase that was overtaken.
func fenced() locks.Kind {
	return scheme{name: "fenced", renews: true, fenced: true, by: always(newLua())}.kind(locks.Kind{
		Alias:   "safe",
		Summary: "lua-watchdog, and the inventory refuses whoever was overtaken",
		Origin:  "fencing tokens: what no lock on Redis alone can give",
	})
}
