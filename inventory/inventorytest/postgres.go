package inventorytest

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/inventory"
	"github.com/oversell/oversell/inventory/pgserver"
)

// RequireEnv names the environment variable that lists, separated by commas,
// what must not be missing when tests run, such as "postgres": then they fail
// instead of being skipped.
const RequireEnv = "OVERSELL_REQUIRE"

// RequirePostgres skips the test where PostgreSQL can't be started, with the
// reason, or fails it when RequireEnv names it.
func RequirePostgres(t testing.TB) {
	t.Helper()
	_, err := pgserver.New(nil).Probe(t.Context())
	if err == nil {
		return
	}
	if slices.Contains(strings.Split(os.Getenv(RequireEnv), ","), inventory.Postgres) {
		t.Fatalf("%s requires PostgreSQL: %v (%s)", RequireEnv, err, hint.Of(err))
	}
	t.Skipf("needs PostgreSQL: %v (%s)", err, hint.Of(err))
}
