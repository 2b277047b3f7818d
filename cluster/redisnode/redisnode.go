// Package redisnode asks servers that speak RESP about themselves, over
// whatever connection their node offers. Every question opens a connection of
// its own and closes it, so that nothing lingers on a server that is about to
// be killed, paused or restarted.
package redisnode

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/oversell/oversell/cluster"
)

const (
	// askTimeout bounds one question, so that a paused server can't hold up
	// whoever asks until their own deadline.
	askTimeout = time.Second
	// pollEvery is how often a condition is looked at that no server announces.
	pollEvery = 10 * time.Millisecond
)

// With runs f with a client of n, which is closed afterwards. The client never
// retries, has one connection, and gives up on a command after a second or
// when ctx ends.
func With(ctx context.Context, n cluster.Node, f func(ctx context.Context, c *redis.Client) error) error {
	conn, err := dial(ctx, n)
	if err != nil {
		return err // the client would also write it to its log
	}
	defer conn.Close()
	// A read in progress only notices a context's deadline, not its end.
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	c := redis.NewClient(&redis.Options{
		Addr:                     n.Announced(),
		Dialer:                   once(conn),
		Protocol:                 2,
		PoolSize:                 1,
		MaxRetries:               -1,
		DialerRetries:            1,
		DialTimeout:              askTimeout,
		ReadTimeout:              askTimeout,
		WriteTimeout:             askTimeout,
		ContextTimeoutEnabled:    true,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	defer c.Close()
	err = f(ctx, c)
	if err != nil && ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return err
}

func dial(ctx context.Context, n cluster.Node) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return n.Dial(ctx)
}

// once hands out conn, and nothing after that: a client that lost its
// connection is of no use any more.
func once(conn net.Conn) func(context.Context, string, string) (net.Conn, error) {
	var used atomic.Bool
	return func(context.Context, string, string) (net.Conn, error) {
		if used.Swap(true) {
			return nil, errors.New("the connection is lost")
		}
		return conn, nil
	}
}

// Do sends one command and returns its reply. A nil reply is redis.Nil.
func Do(ctx context.Context, n cluster.Node, args ...any) (reply any, err error) {
	err = With(ctx, n, func(ctx context.Context, c *redis.Client) error {
		reply, err = c.Do(ctx, args...).Result()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ask %s for %v: %w", n.Name(), args[0], err)
	}
	return reply, nil
}

// Ping returns nil when n answers PING, and is not just loading its data.
func Ping(ctx context.Context, n cluster.Node) error {
	_, err := Do(ctx, n, "PING")
	return err
}

// WaitReady returns once n answers PING, or when ctx ends, with the last
// reason why it didn't.
func WaitReady(ctx context.Context, n cluster.Node) error {
	return Until(ctx, func(ctx context.Context) error { return Ping(ctx, n) })
}

// Until calls try again and again until it returns nil, which is success, an
// error made by GiveUp, or until ctx ends: then the error wraps ctx's cause and
// tells the last reason.
func Until(ctx context.Context, try func(ctx context.Context) error) error {
	var last error
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		if g, ok := errors.AsType[giveUp](err); ok {
			return g.error
		}
		if last == nil || !over(ctx) {
			last = err // what comes after the end says only that it has ended
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; last seen: %w", context.Cause(ctx), last)
		case <-time.After(pollEvery):
		}
	}
}

// over reports whether ctx has ended. Connections notice its deadline a moment
// before ctx itself does.
func over(ctx context.Context) bool {
	at, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(at)
}

type giveUp struct{ error }

// GiveUp marks an error after which Until need not try any more.
func GiveUp(err error) error { return giveUp{err} }
