package main

import (
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/oversell/oversell/instance"
)

// newInstanceCmd is how the engine starts a shop process: it isn't for people.
func newInstanceCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    instanceCommand,
		Short:  "One shop process, started and spoken to by oversell run",
		Hidden: true,
		Args:   noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// Ctrl-C reaches the whole process group. The engine decides what
			// becomes of its instances, and they end with it in any case.
			signal.Ignore(os.Interrupt)
			return instance.Main(cmd.Context(), a.in, a.out, a.world())
		},
	}
}

// instanceCommand is the word after the program's name in an instance's command line.
const instanceCommand = "instance"
