package naive

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/result"
)

// setnxExpireDel has three defects, each kept on purpose. Between SETNX and
// EXPIRE a crash leaves a key that never expires. Nothing renews the key or
// notices that it has gone. And DEL removes whatever is there, so whoever
// outlives the TTL frees the lock of the one who came after.
func setnxExpireDel() locks.Kind {
	return scheme{name: "setnx-expire-del", take: setnxThenExpire, free: del}.kind(locks.Kind{
		Alias:      "naive",
		Summary:    "SETNX, then EXPIRE, and a DEL that doesn't ask whose lock it is",
		Origin:     "the flash sale that sold 137 of 100 units",
		Withstands: []result.Hazard{result.ServerDown, result.Unavailable, result.Control},
	})
}

// setnxThenExpire takes the key and its expiry in two round trips. When the
// second fails, the key stays behind, and the outcome is unknown.
func setnxThenExpire(ctx context.Context, h hold) (bool, error) {
	// Spelled out, because go-redis's SetNX sends SET ... NX.
	cmd := redis.NewBoolCmd(ctx, "setnx", h.key, h.value)
	_ = h.client.Process(ctx, cmd)
	if ok, err := cmd.Result(); err != nil || !ok {
		return false, err
	}
	if err := expire(ctx, h); err != nil {
		if locks.Refused(err) {
			// Not wrapped: a refusal of EXPIRE doesn't undo SETNX.
			return false, fmt.Errorf("took the key, but set no expiry: refused: %v", err)
		}
		return false, fmt.Errorf("took the key, but set no expiry: %w", err)
	}
	return true, nil
}

// expire uses EXPIRE as the incident's code did, and PEXPIRE for a TTL that
// isn't in whole seconds: EXPIRE knows no others.
func expire(ctx context.Context, h hold) error {
	if h.ttl%time.Second == 0 {
		return h.client.Expire(ctx, h.key, h.ttl).Err()
	}
	return h.client.PExpire(ctx, h.key, h.ttl).Err()
}
