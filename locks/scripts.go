package locks

import (
	_ "embed"

	"github.com/redis/go-redis/v9"
)

//go:embed release.lua
var releaseText string

//go:embed renew.lua
var renewText string

// ReleaseScript removes a key if it holds a value, in one step. Its key is the
// lock, its argument the value; it returns 1, or 0 when the key is someone
// else's or gone.
func ReleaseScript() *redis.Script { return redis.NewScript(releaseText) }

// RenewScript prolongs a key if it holds a value, in one step. Its key is the
// lock, its arguments the value and the TTL in milliseconds; it returns as
// ReleaseScript does.
func RenewScript() *redis.Script { return redis.NewScript(renewText) }
