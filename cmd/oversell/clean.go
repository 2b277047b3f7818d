package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// sweeper removes what dead runs have left of one kind.
type sweeper struct {
	name string // "docker"
	// leftovers lists what is there, in words. An error means that there is no
	// looking, such as when Docker doesn't run: that keeps nothing from being cleaned.
	leftovers func(ctx context.Context) ([]string, error)
	// clean removes it and says what it has removed.
	clean func(ctx context.Context) ([]string, error)
}

func newCleanCmd(a *app) *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Remove containers, networks and folders that dead runs have left",
		Long: `Clean removes what runs that were killed have left: containers, networks,
server processes and temporary folders. Runs that are still going on are left
alone, and so are the histories below --dir.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.clean(cmd.Context(), dry) },
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say what would be removed")
	return cmd
}

func (a *app) clean(ctx context.Context, dry bool) error {
	var failed []error
	total := 0
	word := "removed"
	if dry {
		word = "would remove"
	}
	for _, s := range a.sweepers {
		things, err := s.leftovers(ctx)
		if err != nil {
			a.notes.say("%s: not looked at: %v", s.name, err)
			continue
		}
		if !dry {
			if things, err = s.clean(ctx); err != nil {
				err = fmt.Errorf("%s: %w", s.name, err)
				if !a.noteLeftovers(err) {
					failed = append(failed, err)
				}
			}
		}
		for _, thing := range things {
			fmt.Fprintf(a.out, "%s %s\n", word, thing)
		}
		total += len(things)
	}
	if total == 0 && len(failed) == 0 {
		fmt.Fprintln(a.out, "nothing to remove")
	}
	return orInterrupted(ctx, environment(errors.Join(failed...)))
}
