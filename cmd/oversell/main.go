// Command oversell answers one question about a lock that guards stock: can it
// sell more than there is?
package main

import (
	"context"
	"os"

	"github.com/redis/go-redis/v9/logging"
)

func main() {
	os.Exit(realMain())
}

// realMain is main for the tests, which run it as a program of its own.
func realMain() int {
	// Connections break here on purpose; what is worth knowing is in the history.
	logging.Disable()
	a := newApp(os.Stdin, os.Stdout, os.Stderr)
	say := a.notes.say
	if a.env(guardVariable) != "" {
		say = func(string, ...any) {} // the process that guards this one has said it
	}
	ctx, stop := interruptible(context.Background(), say)
	defer stop()
	root := newRootCmd(a)
	root.SetArgs(os.Args[1:])
	return conclude(a.err, root.ExecuteContext(ctx))
}
