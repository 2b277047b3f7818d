package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// newExitCodesTopic is the help topic exit-codes.
func newExitCodesTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString("The exit codes of oversell:\n\n")
	for _, c := range exitCodes {
		fmt.Fprintf(&b, "  %3d  %s\n", c.Code, c.Meaning)
	}
	b.WriteString("\nWith several runs a violation counts before an inconclusive one.")
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean",
		Long:  b.String(),
	}
}
