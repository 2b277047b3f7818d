package explore

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is explored when nobody says how much, and that whoever says it gets it.
func TestUsualBounds(t *testing.T) {
	for _, c := range []struct {
		lock                string
		buyers, masters     int
		hazards             []string
		faults, preemptions int
	}{
		{"fenced", 2, 0, []string{"delay", "expiry"}, 0, -1},
		{"fenced", 2, 0, []string{"all"}, 2, -1},
		{"fenced", 3, 0, []string{"expiry"}, 0, -1},
		{"fenced", 3, 0, []string{"all"}, 2, 2},
		{"rueidislock", 2, 0, []string{"all"}, 1, -1},
		{"redsync", 2, 3, []string{"crash", "failover"}, 0, -1},
		{"redsync", 2, 3, []string{"delay"}, 0, 1},
		{"redsync", 2, 3, []string{"all"}, 1, 1},
		{"redsync", 3, 3, []string{"crash"}, 0, 2},
		{"redsync", 3, 3, []string{"crash", "failover", "restart"}, 1, 2},
		{"redsync", 3, 3, []string{"expiry"}, 0, 1},
		{"redsync", 2, 5, []string{"none"}, 0, 1},
	} {
		t.Run(fmt.Sprint(c.lock, c.buyers, c.masters, c.hazards), func(t *testing.T) {
			is := two(t, kind(t, c.lock), c.hazards...)
			is.Buyers, is.Masters = c.buyers, c.masters
			usual := is.Within(Bounds{})
			require.Equal(t, c.faults, usual.Faults, "faults")
			require.Equal(t, c.preemptions, usual.Preemptions, "preemptions")
			none, three := -1, 3
			told := is.Within(Bounds{Faults: &three, Preemptions: &none})
			require.Equal(t, three, told.Faults)
			require.Equal(t, none, told.Preemptions)
		})
	}
}
