package safe

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/locks/lockstest"
)

// mutants are this package's locks, each weakened on purpose. The contract
// test must notice every one of them.
var mutants = map[string]scheme{
	"none": {renews: true, quorum: true, by: always(newLua())},
	"release without owner check": {renews: true, by: always(luaOf(
		`return redis.call('DEL', KEYS[1])`, ""))},
	"release compares lengths": {renews: true, by: always(luaOf(
		`if #(redis.call('GET', KEYS[1]) or '') == #ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`, ""))},
	"release removes nothing": {renews: true, by: always(luaOf(
		`if redis.call('GET', KEYS[1]) == ARGV[1] then return 1 end return 0`, ""))},
	"renewal without owner check": {renews: true, by: always(luaOf("",
		`return redis.call('PEXPIRE', KEYS[1], ARGV[2])`))},
	"renewal compares lengths": {renews: true, by: always(luaOf("",
		`if #(redis.call('GET', KEYS[1]) or '') == #ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`))},
	"renewal skipped": {renews: true, by: always(luaOf("",
		`if redis.call('GET', KEYS[1]) == ARGV[1] then return 1 end return 0`))},
	"renewal takes the key again": {renews: true, by: always(luaOf("",
		`redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1`))},
	"one token for all": {renews: true, by: always(newLua()), token: func() string { return "1" }},
	"blind native delete": {renews: true, by: always(native{
		remover: func(key, _ string) []any { return []any{"del", key} }})},
	"blind CAD":            {renews: true, by: always(blindTair{})},
	"a quorum of 2":        {renews: true, quorum: true, by: always(newLua()), enough: func(int) int { return 2 }},
	"quorum, blind delete": {renews: true, quorum: true, by: always(luaOf(`return redis.call('DEL', KEYS[1])`, ""))},
}

// luaOf is newLua with other scripts; "" leaves one as it is.
func luaOf(release, renew string) lua {
	l := newLua()
	if release != "" {
		l.removes = redis.NewScript(release)
	}
	if renew != "" {
		l.prolongs = redis.NewScript(renew)
	}
	return l
}

// blindTair forgets the comparison that CAD is there for.
type blindTair struct{ tair }

func (blindTair) remove(ctx context.Context, c redis.UniversalClient, key, _ string) (bool, error) {
	n, err := c.Del(ctx, key).Result()
	return n == 1, err
}

// mutantVar names the mutant that a child process tests.
const mutantVar = "OVERSELL_TEST_MUTANT"

// TestMutant is the child's: the contract test of one mutant.
func TestMutant(t *testing.T) {
	s, ok := mutants[os.Getenv(mutantVar)]
	if !ok {
		t.Skip("for TestEveryMutantIsNoticed")
	}
	s.name = "mutant"
	lockstest.Safe(t, s.kind(locks.Kind{}), lockstest.Bubble)
}

// TestEveryMutantIsNoticed runs the contract test on every mutant, in a process
// of its own, because that it fails is what is wanted.
func TestEveryMutantIsNoticed(t *testing.T) {
	t.Parallel()
	for name := range mutants {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestMutant$", "-test.timeout=60s", "-test.parallel=2")
			cmd.Env = append(os.Environ(), mutantVar+"="+name)
			out, err := cmd.CombinedOutput()
			end := string(out[max(0, len(out)-2000):])
			require.NoError(t, ctx.Err(), "it hangs: %s", end)
			if name == "none" {
				require.NoError(t, err, "what isn't weakened passes: %s", end)
				return
			}
			require.Error(t, err, "nothing noticed it: %s", end)
			require.True(t, strings.Contains(string(out), "--- FAIL: TestMutant/"), "it ended in another way: %s", end)
			require.False(t, strings.Contains(string(out), "panic:"), "it ended in another way: %s", end)
			t.Log(firstFailure(string(out)))
		})
	}
}

// firstFailure is which property noticed.
func firstFailure(out string) string {
	for line := range strings.Lines(out) {
		if strings.Contains(line, "--- FAIL: TestMutant/") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
