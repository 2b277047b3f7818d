package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/internal/sweep"
	"github.com/oversell/oversell/reports"
	"github.com/oversell/oversell/result"
)

type completer = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

// complete makes a flag complete from a fixed list.
func complete(cmd *cobra.Command, flag string, words []string) {
	completeWith(cmd, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

func completeWith(cmd *cobra.Command, flag string, with completer) {
	if err := cmd.RegisterFlagCompletionFunc(flag, with); err != nil {
		panic(err) // no such flag, or registered twice: a mistake in this package
	}
}

// completeRun makes the run command complete names everywhere it takes one.
func completeRun(cmd *cobra.Command, a *app) {
	scenarios := append(a.scenarioNames(), everyScenario)
	cmd.ValidArgsFunction = cobra.FixedCompletions(scenarios, cobra.ShellCompDirectiveNoFileComp)
	completeWith(cmd, "scenario", listOf(scenarios))
	completeWith(cmd, "lock", listOf(a.lockNames()))
	complete(cmd, "backend", a.backendNames())
	completeWith(cmd, "redis", listOf(cluster.Versions()))
	completeWith(cmd, "sweep", completeSweep)
	completeWith(cmd, "file", cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt))
	complete(cmd, "inventory", inventories)
	completeReports(cmd, a)
	completeWith(cmd, "expect", a.completeExpect)
	for _, folder := range []string{"dir", "resume"} {
		completeWith(cmd, folder, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		})
	}
	for _, number := range []string{"stock", "instances", "buyers", "ttl", "time-scale", "seed", "trials", "parallel", "redis-url", "sentinel-url", "quorum-url", "inventory-url", "metrics", "metrics-linger"} {
		completeWith(cmd, number, cobra.NoFileCompletions)
	}
}

// completeReports makes the flags complete that are about results.
func completeReports(cmd *cobra.Command, a *app) {
	complete(cmd, "color", colorModes)
	completeWith(cmd, "output", completeFormats(a.formats))
	complete(cmd, "fail-on", failOnWords)
	completeWith(cmd, "baseline", cobra.FixedCompletions([]string{"json", "ndjson"}, cobra.ShellCompDirectiveFilterFileExt))
}

// listOf completes the last word of a comma-separated list; words that are
// there already aren't offered again.
func listOf(words []string) completer {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		var offers []string
		for _, w := range words {
			if !strings.Contains(","+before, ","+w+",") {
				offers = append(offers, before+w)
			}
		}
		return offers, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// completeFormats completes FORMAT of a list; after the equals sign the shell
// completes files.
func completeFormats(formats []reports.Format) completer {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		if strings.Contains(typed, "=") {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return formatNames(formats), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// completeSweep completes NAME=; the values are up to the user.
func completeSweep(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	if strings.Contains(typed, "=") {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var offers []string
	for _, name := range sweep.Names() {
		offers = append(offers, name+"=")
	}
	return offers, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeExpect completes LOCK= and then the verdict.
func (a *app) completeExpect(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	name, _, ok := strings.Cut(typed, "=")
	var offers []string
	if !ok {
		for _, n := range a.lockNames() {
			offers = append(offers, n+"=")
		}
		return offers, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	for _, word := range result.Expectations() {
		offers = append(offers, name+"="+word)
	}
	return offers, cobra.ShellCompDirectiveNoFileComp
}
