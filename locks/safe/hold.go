package safe

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/oversell/oversell/locks"
)

//go:embed release.lua
var releaseText string

//go:embed renew.lua
var renewText string

var (
	releaseScript = redis.NewScript(releaseText)
	renewScript   = redis.NewScript(renewText)
)

// hold is one acquirer's claim to a key, whether or not it has come true.
type hold struct {
	client redis.UniversalClient
	key    string
	token  string // unique, so that comparing it tells whose the key is
	ttl    time.Duration
}

// set takes the key if it is free; false means that it isn't.
func (h hold) set(ctx context.Context) (bool, error) {
	// Spelled out, because go-redis's SetNX sends EX for whole seconds.
	cmd := redis.NewBoolCmd(ctx, "set", h.key, h.token, "nx", "px", h.ttl.Milliseconds())
	_ = h.client.Process(ctx, cmd)
	return cmd.Result()
}

// renew prolongs the key; false means that it is someone else's or gone.
func (h hold) renew(ctx context.Context) (bool, error) {
	n, err := renewScript.Run(ctx, h.client, []string{h.key}, h.token, h.ttl.Milliseconds()).Int()
	if err != nil {
		return false, fmt.Errorf("renew %q: %w", h.key, err)
	}
	return n == 1, nil
}

// release removes the key if it is ours, else returns ErrNotHeld.
func (h hold) release(ctx context.Context) error {
	n, err := releaseScript.Run(ctx, h.client, []string{h.key}, h.token).Int()
	if err != nil {
		return fmt.Errorf("release %q: %w", h.key, err)
	}
	if n == 0 {
		return fmt.Errorf("release %q: %w", h.key, locks.ErrNotHeld)
	}
	return nil
}

// grace bounds what is done for a caller whose own context has ended.
const grace = time.Second

// releaseSurely releases even when ctx has ended or ends on the way, then
// within grace, so that the key isn't left behind to block others for a TTL.
func (h hold) releaseSurely(ctx context.Context) error {
	var first error
	if ctx.Err() == nil {
		first = h.release(ctx)
		if released(first) || ctx.Err() == nil {
			return first
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := h.release(ctx)
	if first != nil && errors.Is(err, locks.ErrNotHeld) {
		// The first try may have been what removed it.
		return fmt.Errorf("gone, perhaps by the try that failed: %w", first)
	}
	return err
}

// released reports whether the answer to a release leaves no doubt: the key is
// certainly not ours any more.
func released(err error) bool { return err == nil || errors.Is(err, locks.ErrNotHeld) }
