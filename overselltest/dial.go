package overselltest

import (
	"context"
	"math/rand/v2"
	"net"

	"github.com/oversell/oversell/cluster"
)

// dialer reaches a node whatever the address.
func dialer(n cluster.Node) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) { return n.Dial(ctx) }
}

func random(n int) *rand.Rand { return rand.New(rand.NewPCG(1, uint64(n))) }
