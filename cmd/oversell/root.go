package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/oversell/oversell/internal/hint"
)

const rootLong = `oversell answers one question about a lock that guards stock: can it sell more
than there is?

It starts real Redis servers, runs many instances of a shop against them, makes
one precise thing go wrong, counts what was sold against what there was, and
explains every unit too many.`

const rootExample = `  oversell run                                  # the flash sale: naive and safe lock, a call that outlives the TTL
  oversell run all --backend docker             # every scenario, in containers
  oversell run ttl-expiry --lock lua-watchdog --output json
  oversell list                                 # scenarios, locks and faults
  oversell doctor                               # what this machine can test on`

// newRootCmd joins the commands.
func newRootCmd(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "oversell",
		Short:         "Can this lock sell more than there is?",
		Long:          rootLong,
		Example:       rootExample,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknown("command", args[0], commandNames(cmd))
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		newRunCmd(a, nil),
		newExploreCmd(a, nil),
		newReplayCmd(a, nil),
		newCheckCmd(a, nil),
		newReportCmd(a, nil),
		newListCmd(a),
		newDoctorCmd(a, nil),
		newDiagnoseCmd(a, nil),
		newCleanCmd(a),
		newVersionCmd(a),
		newManCmd(a),
		newInstanceCmd(a),
		newExploreHelperCmd(a),
		newExitCodesTopic(),
	)
	root.SetHelpCommand(newHelpCmd(root))
	root.InitDefaultCompletionCmd()
	return root
}

// newHelpCmd is cobra's help command, but an unknown topic is an error.
func newHelpCmd(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND | TOPIC]",
		Short: "Help about a command or a topic, such as exit-codes",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return commandNames(root), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 || cmd == nil {
				return unknown("help topic", strings.Join(args, " "), commandNames(root))
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

// commandNames lists what can follow cmd on the command line.
func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	return names
}

// flagError turns what pflag says into a usage error with a hint.
func flagError(cmd *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	usage := &codeError{exitUsage, err}
	var missing *pflag.NotExistError
	if errors.As(err, &missing) {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		if near := nearest("--"+missing.GetSpecifiedName(), names); near != "" {
			return hint.Wrap(usage, "did you mean %s?", near)
		}
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		f := invalid.GetFlag()
		usage.err = fmt.Errorf("--%s: %q is no %s", f.Name, invalid.GetValue(), kindOfValue(f))
	}
	return hint.Wrap(usage, "see %s --help", cmd.CommandPath())
}

// kindOfValue says what a flag takes, in a word.
func kindOfValue(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "int", "int64":
		return "whole number"
	case "duration":
		return "duration such as 500ms or 2s"
	}
	return f.Value.Type()
}

// noArgs refuses positional arguments.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return hint.Wrap(usagef("%s takes no arguments, got %q", cmd.CommandPath(), strings.Join(args, " ")),
		"see %s --help", cmd.CommandPath())
}
