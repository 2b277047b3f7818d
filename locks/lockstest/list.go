package lockstest

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/internal/redistest"
	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/result"
)

// List tests a list of kinds, on its own or all lists joined: that each kind
// can be told from the others, says what it is, and can be made.
func List(t *testing.T, kinds []locks.Kind) {
	require.NotEmpty(t, kinds)
	names := map[string]string{} // names and aliases share the command line
	claim := func(name, kind string) {
		assert.Empty(t, names[name], "%q is the name of two kinds", name)
		names[name] = kind
	}
	for _, k := range kinds {
		require.NotEmpty(t, k.Name)
		claim(k.Name, k.Name)
		if k.Alias != "" {
			claim(k.Alias, k.Name)
		}
		t.Run(k.Name, func(t *testing.T) { entry(t, k) })
	}
}

func entry(t *testing.T, k locks.Kind) {
	assert.NotEmpty(t, k.Summary)
	assert.NotContains(t, k.Summary, "\n", "a summary is one line")
	assert.NotEmpty(t, k.Origin)
	assert.NotEmpty(t, k.Topologies)
	known := map[result.Hazard]bool{}
	for _, h := range result.Hazards() {
		known[h.Hazard] = true
	}
	for _, h := range k.Withstands {
		assert.True(t, known[h], "%q is no hazard", h)
		known[h] = false // a second mention fails as well
	}
	require.NotNil(t, k.New)
	_, err := k.New(t.Context(), locks.Clients{}, locks.Options{})
	require.Error(t, err, "without a server there is no lock")
	assert.ErrorContains(t, err, k.Name)

	for _, n := range sizes(k) {
		var servers []*redistest.Server
		var clients []*redis.Client
		for range n {
			s := redistest.Mini(t)
			servers, clients = append(servers, s), append(clients, s.Client(t, nil))
		}
		l, err := k.New(t.Context(), clientsOf(servers, clients), locks.Options{})
		require.NoError(t, err)
		require.NoError(t, l.Close())
	}
}
