package naive

import (
	"context"
	"slices"

	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/result"
)

// renewUnowned renews whatever key is there. When the key has become someone
// else's, its renewals still work, and it goes on believing that it holds it.
func renewUnowned() locks.Kind {
	return scheme{
		name: "renew-unowned", take: setNX, free: compareAndDelete,
		renew: func(ctx context.Context, d *dog) bool {
			there, err := d.hold.client.PExpire(ctx, d.hold.key, d.hold.ttl).Result()
			if err == nil && !there {
				d.lose()
				return false
			}
			return true
		},
	}.kind(locks.Kind{
		Summary: "lua-release with a watchdog that sends PEXPIRE without asking whose lock it is",
		Origin:  "watchdogs in the wild: one of the defects reported most often",
		Withstands: slices.Concat(locks.WithstoodByExpiry(), locks.WithstoodByOwnerCheck(),
			[]result.Hazard{result.SlowCall}),
	})
}
