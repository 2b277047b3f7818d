package redisstore

import (
	_ "embed"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed reset.lua
	resetText string
	//go:embed begin.lua
	beginText string
	//go:embed commit.lua
	commitText string
)

// A script runs in one step: nothing else happens on the server meanwhile.
var (
	resetScript  = redis.NewScript(resetText)
	beginScript  = redis.NewScript(beginText)
	commitScript = redis.NewScript(commitText)
)
