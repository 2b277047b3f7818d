package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	// The engine starts instances by re-executing this program, which is the
	// test binary while tests run, and exploring starts its helpers. Never run the
	// tests in those.
	if len(os.Args) > 1 && (os.Args[1] == instanceCommand || os.Args[1] == exploreHelperCommand) {
		os.Exit(realMain())
	}
	if len(os.Args) > 2 && os.Args[1] == mutantCommand {
		os.Exit(mutantInstance(os.Args[2]))
	}
	testscript.Main(m, map[string]func(){"oversell": func() { os.Exit(realMain()) }})
}
