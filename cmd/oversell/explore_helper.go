package main

import (
	"github.com/spf13/cobra"

	"github.com/oversell/oversell/internal/explore"
	"github.com/oversell/oversell/locks"
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
			kind := func(name string) (locks.Kind, error) { return a.findKind(name) }
			return explore.Help(explore.Ordinary(), kind, a.in, a.out)
		},
	}
}
