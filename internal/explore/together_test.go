package explore

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/locks"
)

// helping, in the environment, makes this program a process that helps; how, says its value.
const helping = "OVERSELL_EXPLORE_TEST_HELPS"

func TestMain(m *testing.M) {
	switch os.Getenv(helping) {
	case "":
		os.Exit(m.Run())
	case "dies":
		os.Exit(7)
	}
	find := func(name string) (locks.Kind, error) {
		for _, k := range kinds() {
			if k.Name == name {
				return k, nil
			}
		}
		return locks.Kind{}, fmt.Errorf("no lock is called %s", name)
	}
	if err := Help(Ordinary(), find, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// helped makes processes that help from the first moment on.
func helped(t testing.TB, how string) func() *exec.Cmd {
	if runtime.GOOS != "linux" {
		t.Skip("processes can't share memory on this system")
	}
	old := aMoment
	aMoment = 0
	t.Cleanup(func() { aMoment = old })
	return func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), helping+"="+how, "GOMAXPROCS=1")
		cmd.Stderr = os.Stderr
		return cmd
	}
}

// Processes that share the graph come to what one process comes to.
func TestProcessesFindTheSame(t *testing.T) {
	for _, hazards := range [][]string{{"slow-call", "expiry"}, {"crash", "restart", "lost-reply"}} {
		c := two(t, kind(t, "lua-watchdog"), hazards...)
		alone := explored(t, c, Config{})
		r := explored(t, c, Config{Workers: 3, Help: helped(t, "well")})
		require.True(t, r.Complete)
		requireSameFound(t, alone, r)
		require.Equal(t, alone.States, r.States)
		require.Equal(t, alone.FirstBad > 0, r.FirstBad > 0)
		require.Equal(t, r.FirstBad > 0, r.FirstIn > 0)
	}
}

// A process that dies ends the exploration, whatever it had; nobody waits for it.
func TestAProcessThatDies(t *testing.T) {
	for _, s := range []Strategy{Exhaustive, Random} {
		cfg := Config{T: t, Strategy: s, Workers: 2, Budget: time.Minute, Help: helped(t, "dies")}
		_, err := Explore(t.Context(), two(t, kind(t, "fenced"), "all"), cfg)
		require.ErrorContains(t, err, "a process that explored came to no answer: pid ")
		require.ErrorContains(t, err, "exit status 7")
	}
}

func TestProcessesThatCantStart(t *testing.T) {
	cfg := Config{T: t, Strategy: Exhaustive, Workers: 2, Help: helped(t, "well")}
	cfg.Help = func() *exec.Cmd { return exec.Command("/nowhere") }
	_, err := Explore(t.Context(), two(t, kind(t, "fenced"), "all"), cfg)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// What processes find out about a lock is told as if this one had.
func TestProcessesTellOfNondeterminism(t *testing.T) {
	r := finding{Nondeterministic: &NondeterminismError{Kind: "a", Where: "b", Schedule: []string{"c"}, Now: "d"}}
	var nd *NondeterminismError
	require.True(t, errors.As(r.error(), &nd))
	require.Equal(t, "b", nd.Where)
	r = finding{Stuck: &StuckError{Kind: "a", Why: "it spins"}}
	var stuck *StuckError
	require.True(t, errors.As(r.error(), &stuck))
	require.EqualError(t, finding{Err: "else"}.error(), "else")
	require.NoError(t, finding{}.error())
}

func TestProcessesDraw(t *testing.T) {
	c := two(t, kind(t, "setnx-expire-del"), "slow-call")
	for _, s := range []Strategy{PCT, Random} {
		r := explored(t, c, Config{Strategy: s, Workers: 2, Budget: 300 * time.Millisecond, Help: helped(t, "well")})
		require.False(t, r.Complete)
		require.Positive(t, r.Sampled.Runs)
		require.Equal(t, r.Sampled.Runs, r.Runs)
		require.EqualValues(t, r.Sampled.Runs, r.Sampled.Counts.All)
		require.Positive(t, r.Sampled.Counts.Oversold)
		require.Positive(t, r.Sampled.Distinct)
		require.NotNil(t, r.Broke(Oversold))
		require.Positive(t, r.Events)
	}
}

// What is left is saved, and gone on with.
func TestProcessesAreInterrupted(t *testing.T) {
	c := two(t, kind(t, "lua-watchdog"), "slow-call", "expiry")
	whole := explored(t, c, Config{})
	var data []byte
	for n := 0; ; n++ {
		require.Less(t, n, 1000)
		budget := 2 * time.Second
		if n == 0 {
			budget = 100 * time.Millisecond // too little
		}
		r := explored(t, c, Config{Budget: budget, Resume: data, Workers: 2, Help: helped(t, "well"), noCompose: true})
		if r.Complete {
			require.Positive(t, n)
			require.Equal(t, whole.Counts, r.Counts)
			break
		}
		data = r.Checkpoint
	}
}
