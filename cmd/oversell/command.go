package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// command is the command line that repeats an invocation: what it was told and
// what it chose, but not where its reports went.
func (a *app) command(o *runOptions, p plan, backend string) string {
	var scenarios, kinds, expect []string
	for _, j := range p.jobs {
		if !slices.Contains(scenarios, j.Scenario.Name) && !slices.Contains(p.own, j.Scenario.Name) {
			scenarios = append(scenarios, j.Scenario.Name)
		}
		name := cmp.Or(j.Kind.Alias, j.Kind.Name)
		if slices.Contains(kinds, name) {
			continue
		}
		kinds = append(kinds, name)
		if j.Expect != "" {
			expect = append(expect, "--expect", name+"="+string(j.Expect))
		}
	}
	words := []string{a.program, "run"}
	if o.All {
		words = append(words, "--all")
		if len(o.Scenarios) == 0 {
			scenarios = nil
		}
	}
	words = append(words, scenarios...)
	for _, file := range o.Files {
		words = append(words, "-f", file)
	}
	if !o.All || o.has("lock") {
		words = append(words, "--lock", strings.Join(kinds, ","))
	}
	words = append(words, "--backend", backend)
	words = append(words, given("--redis", len(o.Redis) > 0, strings.Join(o.Redis, ","))...)
	words = append(words, o.repeat()...)
	words = append(words, givenPointer("--stock", o.Stock)...)
	words = append(words, givenPointer("--instances", o.Instances)...)
	words = append(words, givenPointer("--buyers", o.Buyers)...)
	words = append(words, givenPointer("--ttl", o.TTL)...)
	words = append(words, givenPointer("--time-scale", o.TimeScale)...)
	words = append(words, given("--sweep", o.Sweep != "", o.Sweep)...)
	words = append(words, given("--trials", o.Trials > 1, o.Trials)...)
	words = append(words, "--seed", fmt.Sprint(p.seed))
	words = append(words, expect...)
	words = append(words, given("--dir", o.Dir != defaultDir, o.Dir)...)
	if o.AllowSimulated {
		words = append(words, "--allow-simulated")
	}
	for i, w := range words {
		words[i] = shellQuote(w)
	}
	return strings.Join(words, " ")
}

func given(flag string, when bool, value any) []string {
	if !when {
		return nil
	}
	return []string{flag, fmt.Sprint(value)}
}

func givenPointer[T any](flag string, value *T) []string {
	if value == nil {
		return nil
	}
	return []string{flag, fmt.Sprint(*value)}
}

// programName is how this program was called, if that works for others too.
func programName(arg0 string) string {
	if arg0 == "" || filepath.IsAbs(arg0) {
		return "oversell"
	}
	return arg0
}

const unquoted = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./,:+@%"

// shellQuote quotes a word for a POSIX shell where that is needed.
func shellQuote(word string) string {
	if word != "" && strings.Trim(word, unquoted) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
