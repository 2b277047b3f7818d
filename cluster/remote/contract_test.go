package remote_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster/clustertest"
	"github.com/oversell/oversell/cluster/remote"
)

func TestContract(t *testing.T) {
	o := remote.Options{Redis: "redis://" + serve(t, "")}
	for range 5 {
		o.Quorum = append(o.Quorum, "redis://"+serve(t, ""))
	}
	clustertest.Run(t, clustertest.Config{
		Backend: backend(t, o),
		Leftovers: func(t testing.TB, run string) (left []string) {
			for _, url := range append([]string{o.Redis}, o.Quorum...) {
				c := redis.NewClient(&redis.Options{Addr: strings.TrimPrefix(url, "redis://")})
				keys, err := c.Keys(t.Context(), fmt.Sprintf("oversell:%s:*", run)).Result()
				require.NoError(t, err)
				left = append(left, keys...)
				require.NoError(t, c.Close())
			}
			return left
		},
	})
}
