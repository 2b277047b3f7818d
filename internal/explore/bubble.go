package explore

import (
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// inBubble runs f on the first goroutine of a bubble of its own, and returns
// when every goroutine of the bubble has ended, or waits for ever: left then
// reports that. Bubbles run side by side.
func inBubble(t *testing.T, f func()) (left bool) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if text := fmt.Sprint(p); !strings.Contains(text, "blocked goroutines remain") {
			panic(p)
		}
		left = true
	}()
	synctest.Test(t, func(*testing.T) { f() })
	return false
}

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
