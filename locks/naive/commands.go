package naive

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/oversell/oversell/locks"
)

// The parts of a lock that are right. Each kind of this package has something
// else instead of one of them.
var (
	releaseScript = locks.ReleaseScript()
	renewScript   = locks.RenewScript()
)

// setNX takes the key and sets its expiry in one command.
func setNX(ctx context.Context, h hold) (bool, error) {
	// Spelled out, because go-redis's SetNX sends EX for whole seconds.
	cmd := redis.NewBoolCmd(ctx, "set", h.key, h.value, "nx", "px", h.ttl.Milliseconds())
	_ = h.client.Process(ctx, cmd)
	return cmd.Result()
}

// compareAndDelete removes the key if it holds h's value.
func compareAndDelete(ctx context.Context, h hold) (bool, error) {
	n, err := releaseScript.Run(ctx, h.client, []string{h.key}, h.value).Int()
	return n == 1, err
}

// compareAndExpire prolongs the key if it holds h's value.
func compareAndExpire(ctx context.Context, h hold) (bool, error) {
	n, err := renewScript.Run(ctx, h.client, []string{h.key}, h.value, h.ttl.Milliseconds()).Int()
	return n == 1, err
}

// del removes the key, whoever has it.
func del(ctx context.Context, h hold) (bool, error) {
	n, err := h.client.Del(ctx, h.key).Result()
	return n == 1, err
}
