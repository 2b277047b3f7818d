package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
)

// askFor is how long a server that was seen to be well may take to answer on a
// machine that is busy with starting others. redisnode gives up after a second.
const askFor = 15 * time.Second

// ask sends a command that may safely arrive twice, until the server answers or
// refuses it.
func ask(ctx context.Context, n cluster.Node, args ...any) (reply any, err error) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	err = redisnode.Until(ctx, func(ctx context.Context) error {
		reply, err = redisnode.Do(ctx, n, args...)
		if refused(err) {
			return redisnode.GiveUp(err)
		}
		return err
	})
	return reply, err
}

// refused reports whether err is a server's own answer.
func refused(err error) bool {
	_, ok := errors.AsType[redis.Error](err)
	return ok
}

// askInfo asks for a section of INFO, with the patience of ask.
func askInfo(ctx context.Context, n cluster.Node, section string) (redisnode.Info, error) {
	reply, err := ask(ctx, n, "INFO", section)
	if err != nil {
		return nil, err
	}
	text, ok := reply.(string)
	if !ok {
		return nil, fmt.Errorf("ask %s for INFO: unexpected reply of type %T", n.Name(), reply)
	}
	return redisnode.ParseInfo(text), nil
}
