package explore

import (
	"flag"
	"sync"
	"testing"
	"testing/synctest"
)

// inBubble runs f on the first goroutine of a bubble of its own, and returns
// when every goroutine of the bubble has ended. Bubbles run side by side.
func inBubble(t *testing.T, f func()) { synctest.Test(t, func(*testing.T) { f() }) }

// Ordinary returns a *testing.T for a program that is no test: bubbles can't be
// had without one. Package testing believes from then on that a test is running;
// it ends with the program.
var Ordinary = sync.OnceValue(func() *testing.T {
	testing.Init()
	_ = flag.CommandLine.Parse(nil) // else testing would read the program's arguments
	given := make(chan *testing.T)
	run := func(t *testing.T) {
		given <- t
		select {}
	}
	go testing.Main(func(_, _ string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: "explore", F: run}}, nil, nil)
	return <-given
})
