package safe

import (
	"context"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/result"
)

func luaWatchdog() locks.Kind {
	return locks.Kind{
		Name:       "lua-watchdog",
		Summary:    "lua-release, renewed every third of the TTL with an owner check in Lua",
		Origin:     "the fix after both incidents",
		Topologies: []cluster.Shape{cluster.Single, cluster.Sentinel},
		Renews:     true,
		Withstands: []result.Hazard{result.SlowCall, result.HolderCrash},
		New: func(_ context.Context, c locks.Clients, opts locks.Options) (locks.Locker, error) {
			return newLocker("lua-watchdog", c, opts, true)
		},
	}
}
