package redistest

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Hook is called instead of every single command of the client that it was
// added to (AddHook). next sends the command and waits for the reply; what Hook
// returns is what the caller gets. Pipelines pass it by.
type Hook func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error

var _ redis.Hook = Hook(nil)

// DialHook implements redis.Hook.
func (h Hook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (h Hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return h(ctx, cmd, next)
	}
}

// ProcessPipelineHook implements redis.Hook.
func (h Hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// Reply is an error reply as a server gives it.
type Reply string

func (r Reply) Error() string { return string(r) }

// RedisError makes it a redis.Error.
func (Reply) RedisError() {}
