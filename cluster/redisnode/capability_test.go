package redisnode_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/embedded"
	"github.com/oversell/oversell/cluster/redisnode"
)

// serverWith knows no commands but those.
func serverWith(answers map[string]string) *node {
	return &node{name: "redis", answers: answers}
}

func TestLacks(t *testing.T) {
	const syntax = "-ERR syntax error"
	for name, c := range map[string]struct {
		answers map[string]string
		has     map[cluster.Capability]bool
	}{
		"Redis 7.0":    {map[string]string{"SET": syntax, "CLIENT GETREDIR": ":-1"}, map[cluster.Capability]bool{cluster.Tracking: true}},
		"Redis 8.4":    {map[string]string{"SET": "$-1", "DELEX": ":0"}, map[cluster.Capability]bool{cluster.NativeCAS: true}},
		"Valkey 8.1":   {map[string]string{"SET": "$-1"}, nil},
		"Valkey 9":     {map[string]string{"SET": "$-1", "DELIFEQ": ":0"}, map[cluster.Capability]bool{cluster.NativeCAS: true}},
		"no SET IFEQ":  {map[string]string{"SET": syntax, "DELEX": ":0", "DELIFEQ": ":0"}, nil},
		"Tair":         {map[string]string{"SET": syntax, "EXGET": "$-1", "EXCAD": ":-1", "CAS": ":-1", "CAD": ":-1"}, map[cluster.Capability]bool{cluster.TairEXSET: true, cluster.TairCAS: true}},
		"half of Tair": {map[string]string{"EXGET": "$-1", "CAS": ":-1"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, need := range []cluster.Capability{cluster.TairEXSET, cluster.TairCAS, cluster.NativeCAS, cluster.Tracking} {
				why, err := redisnode.Lacks(t.Context(), serverWith(c.answers), need)
				require.NoError(t, err)
				assert.Equal(t, c.has[need], why == "", "%s: %s", need, why)
				assert.NotContains(t, why, "oversell:probe", "a reason is for people")
			}
		})
	}
}

func TestLacksNeedsAnAnswer(t *testing.T) {
	_, err := redisnode.Lacks(t.Context(), &node{name: "redis", down: true}, cluster.TairCAS)
	require.ErrorContains(t, err, "ask redis for CAS: ")
	_, err = redisnode.Lacks(t.Context(), serverWith(nil), "FLYING")
	require.ErrorContains(t, err, "no such capability")
}

// TestTheEmbeddedServerHasWhatLocksNeed also looks at a key with a version.
func TestTheEmbeddedServerHasWhatLocksNeed(t *testing.T) {
	c, err := embedded.New().Start(t.Context(), cluster.Spec{Shape: cluster.Single})
	require.NoError(t, err)
	defer func() { assert.NoError(t, c.Close(t.Context())) }()
	n := c.Nodes[0]
	for _, need := range []cluster.Capability{cluster.TairEXSET, cluster.TairCAS, cluster.NativeCAS} {
		why, err := redisnode.Lacks(t.Context(), n, need)
		require.NoError(t, err)
		require.Empty(t, why, need)
	}
	why, err := redisnode.Lacks(t.Context(), n, cluster.Tracking)
	require.NoError(t, err)
	require.NotEmpty(t, why)

	_, err = redisnode.Do(t.Context(), n, "EXSET", "k", "me", "NX", "PX", "60000")
	require.NoError(t, err)
	value, ttl, err := redisnode.KeyState(t.Context(), n, "k")
	require.NoError(t, err)
	require.Equal(t, "me", value)
	require.Positive(t, ttl)
}
