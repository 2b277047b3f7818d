package history

import (
	"sync"
	"time"
)

// beat is how often a heartbeat looks at the clock.
const beat = 5 * time.Millisecond

// Heartbeat calls stalled whenever this process ran nothing for longer than
// over, with how long it stood still. The returned function ends it and waits.
func Heartbeat(over time.Duration, stalled func(stood time.Duration)) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(beat)
		defer tick.Stop()
		listen(tick.C, done, time.Now, over, stalled)
	})
	return func() {
		close(done)
		wg.Wait()
	}
}

// listen compares the clock at each beat with the clock at the one before: a
// beat that comes late means that nothing ran meanwhile.
func listen(beats <-chan time.Time, done <-chan struct{}, now func() time.Time, over time.Duration, stalled func(time.Duration)) {
	last := now()
	for {
		select {
		case <-beats:
		case <-done:
			return
		}
		t := now()
		if stood := t.Sub(last) - beat; stood > over {
			stalled(stood)
		}
		last = t
	}
}
