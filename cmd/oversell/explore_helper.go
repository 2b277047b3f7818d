package main

import (
	"github.com/spf13/cobra"

	"github.com/oversell/oversell/internal/explore"
)

// exploreHelperCommand is the word after the program's name in the command line
// of a process that helps to explore.
const exploreHelperCommand = "explore-helper"

// newExploreHelperCmd is how exploring uses more than one core: it isn't for people.
func newExploreHelperCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    exploreHelperCommand,
		Short:  "One process that explores, started and spoken to by oversell explore",
		Hidden: true,
		Args:   noArgs,
		RunE: func(*cobra.Command, []string) error {
			return explore.Help(explore.Ordinary(), a.findKind, a.in, a.out)
		},
	}
}
