package safe

import (
	"context"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/result"
)

func luaRelease() locks.Kind {
	return locks.Kind{
		Name:       "lua-release",
		Summary:    "SET NX PX with a unique token, compare-and-delete in Lua, no renewal",
		Origin:     "the pattern of the Redis documentation of SET",
		Topologies: []cluster.Shape{cluster.Single, cluster.Sentinel},
		Withstands: []result.Hazard{result.HolderCrash},
		New: func(_ context.Context, c locks.Clients, opts locks.Options) (locks.Locker, error) {
			return newLocker("lua-release", c, opts, false)
		},
	}
}
