package safe

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/oversell/oversell/locks"
)

// compare is how a server prolongs or removes a key that holds a token, and no
// other, in one step: between a GET and a DEL of its own the key could expire
// and become someone else's. False means that it is someone else's or gone.
type compare interface {
	prolong(ctx context.Context, c redis.UniversalClient, key, token string, ttl time.Duration) (bool, error)
	remove(ctx context.Context, c redis.UniversalClient, key, token string) (bool, error)
}

// hold is a claim to a key on one server.
type hold struct {
	client redis.UniversalClient
	by     compare
	key    string
	token  string
	ttl    time.Duration
}

func (h hold) set(ctx context.Context) (bool, error) {
	// Spelled out, because go-redis's SetNX sends EX for whole seconds.
	cmd := redis.NewBoolCmd(ctx, "set", h.key, h.token, "nx", "px", h.ttl.Milliseconds())
	_ = h.client.Process(ctx, cmd)
	return cmd.Result()
}

func (h hold) renew(ctx context.Context) (bool, error) {
	ok, err := h.by.prolong(ctx, h.client, h.key, h.token, h.ttl)
	if err != nil {
		return false, fmt.Errorf("renew %q: %w", h.key, err)
	}
	return ok, nil
}

func (h hold) release(ctx context.Context) error {
	ok, err := h.by.remove(ctx, h.client, h.key, h.token)
	if err != nil {
		return fmt.Errorf("release %q: %w", h.key, err)
	}
	if !ok {
		return fmt.Errorf("release %q: %w", h.key, locks.ErrNotHeld)
	}
	return nil
}

// life is the whole TTL: the server begins to count it later than we do.
func (h hold) life() time.Duration { return h.ttl }
