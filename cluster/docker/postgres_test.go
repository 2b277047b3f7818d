package docker

import (
	"net"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/inventory"
	"github.com/oversell/oversell/inventory/inventorytest"
	"github.com/oversell/oversell/inventory/pgserver"
	"github.com/oversell/oversell/inventory/pgstore"
)

// postgres skips the test where no image of PostgreSQL is at hand: there is
// none to be built, and a registry isn't always there.
func postgres(t *testing.T) *Backend {
	t.Helper()
	b := backend(t)
	e, err := b.connect(within(t))
	require.NoError(t, err)
	defer e.idle()
	image, err := e.localPostgres(within(t))
	require.NoError(t, err)
	if image == "" {
		t.Skip("needs a local image of PostgreSQL, such as postgres:17")
	}
	return b
}

func TestPostgresInAContainer(t *testing.T) {
	b := postgres(t)
	run := spec(t, "").Run
	what, err := b.ProbePostgres(within(t))
	require.NoError(t, err)
	assert.Contains(t, what, "image ")
	place, err := pgserver.New(b).Start(within(t), run)
	require.NoError(t, err)
	assert.NotEmpty(t, itemsOf(t, b, run))
	u, err := url.Parse(place.DSN)
	require.NoError(t, err)
	ip := net.ParseIP(u.Hostname())
	assert.True(t, ip.IsLoopback(), "it is published on %s", u.Host)
	t.Run("store", func(t *testing.T) {
		inventorytest.Run(t, func(t *testing.T) inventory.Store {
			s, err := pgstore.Open(t.Context(), place.DSN, pgstore.Options{Schema: place.Schema})
			require.NoError(t, err)
			return s
		})
	})
	require.NoError(t, place.Close(within(t)))
	requireNothingLeft(t, b, run)
}

func TestPostgresWithoutAnImage(t *testing.T) {
	b := backend(t)
	e, err := b.connect(within(t))
	require.NoError(t, err)
	defer e.idle()
	if image, err := e.localPostgres(within(t)); err != nil || image != "" {
		t.Skipf("there is an image of PostgreSQL: %s", image)
	}
	_, err = b.ProbePostgres(within(t))
	if err == nil {
		t.Skip("a registry has one")
	}
	require.ErrorContains(t, err, "no image of PostgreSQL (postgres:17, postgres:16, postgres:15)")
	assert.Contains(t, hint.Of(err), "docker pull ")

	// What the distribution has takes its place, with a word about it.
	inventorytest.RequirePostgres(t)
	what, err := pgserver.New(b).Probe(within(t))
	require.NoError(t, err)
	assert.Contains(t, what, "; in no container: no image of PostgreSQL")
}
