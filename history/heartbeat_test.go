package history

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLateBeatsAreStalls(t *testing.T) {
	at := time.Unix(0, 0)
	gaps := []time.Duration{beat, beat + 30*time.Millisecond, beat, beat + 200*time.Millisecond, beat + 51*time.Millisecond}
	beats, done := make(chan time.Time), make(chan struct{})
	var stood []time.Duration
	finished := make(chan struct{})
	clock := make(chan time.Time, 1)
	clock <- at
	go func() {
		defer close(finished)
		listen(beats, done, func() time.Time { return <-clock }, 50*time.Millisecond, func(d time.Duration) { stood = append(stood, d) })
	}()
	for _, g := range gaps {
		at = at.Add(g)
		beats <- at
		clock <- at
	}
	close(done)
	<-finished
	require.Equal(t, []time.Duration{200 * time.Millisecond, 51 * time.Millisecond}, stood)
}
