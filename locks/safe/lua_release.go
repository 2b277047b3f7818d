package safe

import "github.com/oversell/oversell/locks"

func luaRelease() locks.Kind {
	return scheme{name: "lua-release", by: always(newLua())}.kind(locks.Kind{
		Summary: "SET NX PX with a unique token, compare-and-delete in Lua, no renewal",
		Origin:  "the pattern of the Redis documentation of SET",
	})
}
