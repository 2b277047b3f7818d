package safe

import (
	"context"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/result"
)

// fenced locks exactly as lua-watchdog does. What it adds is outside of the
// lock: the inventory refuses the write of a purchase that was overtaken.
func fenced() locks.Kind {
	return locks.Kind{
		Name:       "fenced",
		Alias:      "safe",
		Summary:    "lua-watchdog, and the inventory refuses whoever was overtaken",
		Origin:     "fencing tokens: what no lock on Redis alone can give",
		Topologies: []cluster.Shape{cluster.Single, cluster.Sentinel},
		Fenced:     true,
		Renews:     true,
		Withstands: []result.Hazard{result.SlowCall, result.HolderCrash, result.LostMaster},
		New: func(_ context.Context, c locks.Clients, opts locks.Options) (locks.Locker, error) {
			return newLocker("fenced", c, opts, true)
		},
	}
}
