package faults

import (
	"context"
	"fmt"

	"github.com/oversell/oversell/cluster/redisnode"
	"github.com/oversell/oversell/wire"
)

// resend sends a command that passed the wire to its server once more, and
// returns the reply as text.
func resend(ctx context.Context, t Target, x *wire.Exchange) (reply string, err error) {
	node := t.Cluster.Node(x.Server)
	if node == nil {
		return "", fmt.Errorf("no server is called %s", x.Server)
	}
	args := make([]any, len(x.Args))
	for i, a := range x.Args {
		args[i] = a
	}
	v, err := redisnode.Do(ctx, node, args...)
	if err != nil {
		return "", err
	}
	return fmt.Sprint(v), nil
}
