package lockstest

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
	"github.com/oversell/oversell/internal/redistest"
	"github.com/oversell/oversell/locks"
)

// node is a test's server as a cluster's node.
type node struct{ server *redistest.Server }

var _ cluster.Node = node{}

func (node) Name() string                                { return "redis" }
func (node) Role() cluster.Role                          { return cluster.RoleMaster }
func (node) Announced() string                           { return "redis:6379" }
func (node) Addr() string                                { return "" }
func (node) Version() string                             { return "" }
func (node) Logs(context.Context, int) ([]string, error) { return nil, nil }

func (n node) Dial(ctx context.Context) (net.Conn, error) { return n.server.Dial(ctx) }

// skipUnlessAble skips t, with the reason, when k needs what its server lacks.
func skipUnlessAble(t *testing.T, k locks.Kind, e Env) {
	t.Helper()
	for _, need := range k.Needs {
		why, err := redisnode.Lacks(t.Context(), node{e.Servers[0]}, need)
		require.NoError(t, err)
		if why != "" {
			t.Skipf("%s needs %s: %s", k.Name, need, why)
		}
	}
}
