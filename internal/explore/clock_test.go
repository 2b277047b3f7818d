package explore

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// B is held up while time passes, gives up on what it has sent, and sends it again: in
// the middle of a step of time, which is sooner or later by when it began to wait. What
// it has sent times out sooner or later too, so the states aren't the same, though all
// else in them is.
func TestSentInTheMiddleOfAStep(t *testing.T) {
	const (
		before = "deliver 1.0,deliver 1.0,expiry,deliver 2.2,deliver 2.1,deliver 2.1"
		after  = "deliver 3.1,deliver 3.2,deliver 3.1,time,deliver 1.1,deliver 1.0,deliver 1.0,delay 2,deliver 1.0,deliver 1.0," +
			"deliver 1.0,return 1.0,deliver 1.0,deliver 1.0,deliver 3.0,deliver 3.0,deliver 3.0,deliver 3.0"
	)
	c := bounded(t, "redsync-extend", 3, 2, 2, []string{"delay", "expiry"})
	var states []view
	var ends []uint64
	require.NoError(t, alone(t, c, func(k *worker) error {
		for _, path := range []string{before + "," + after, before + ",deliver 2.1," + after} {
			k.w.begin()
			if !k.goAlong(picked(t, path), func() {}) {
				return errHolds
			}
			states = append(states, k.w.state())
			k.w.apply(makeEvent(pass, 0, 0))
			ends = append(ends, k.w.now())
			if err := k.w.end(); err != nil {
				return err
			}
		}
		return nil
	}))
	require.NotEqual(t, ends[0], ends[1], "the next step of time takes as long")
	require.NotEqual(t, states[0], states[1])
}

// alone gives f a worker in a bubble of its own.
func alone(t *testing.T, c Case, f func(*worker) error) error {
	tm := &team{cfg: Config{T: t, Workers: 1}, c: c.WithDefaults(), halt: func() {}}
	return tm.work(f)
}

// picked reads events.
func picked(t *testing.T, text string) (evs []event) {
	for _, pick := range strings.Split(text, ",") {
		ev, err := parseEvent(pick)
		require.NoError(t, err)
		evs = append(evs, ev)
	}
	return evs
}
