package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/result"
)

// defaultScenario is played when none is named.
const defaultScenario = "ttl-expiry"

// everyScenario is the word for all of them.
const everyScenario = "all"

// defaultDir is where runs leave their folders.
const defaultDir = "runs"

// runOptions is what the command line of `oversell run` says. Pointers are nil
// when the flag wasn't given, and the scenario's own value counts.
type runOptions struct {
	Scenarios []string
	Locks     []string
	Backend   string
	Redis     string

	Stock     *int
	Instances *int
	Buyers    *int
	TTL       *time.Duration

	Seed   *int64
	Trials int
	Dir    string

	Outputs        []string
	Expect         []string
	AllowSimulated bool
	Color          string
}

const runLong = `Run plays scenarios under lock kinds and compares what came out with what each
lock claims to withstand: a lock that withstands the scenario's hazard must sell
exactly what there is, and one that doesn't must be caught.

Without a scenario it plays ` + defaultScenario + `; "all" plays every scenario that the backend
can. Progress goes to stderr, results to stdout. Every run leaves a folder with
its plan, history and server logs below --dir.

See "oversell help exit-codes" for the exit codes.`

const runExample = `  oversell run
  oversell run sentinel-failover --lock safe,lua-watchdog
  oversell run all --backend process --output junit=oversell.xml
  oversell run --lock lua-release --expect lua-release=oversold
  oversell run --backend embedded --allow-simulated`

// newRunCmd makes the command; runF, when not nil, takes the place of the run itself.
func newRunCmd(a *app, runF func(context.Context, *runOptions) error) *cobra.Command {
	if runF == nil {
		runF = a.run
	}
	o := &runOptions{}
	var named []string
	cmd := &cobra.Command{
		Use:     "run [SCENARIO...]",
		Short:   "Play a scenario under a lock and reconcile orders against stock",
		Long:    runLong,
		Example: runExample,
		Args:    cobra.ArbitraryArgs, // scenario names are checked with everything else
	}
	f := cmd.Flags()
	f.StringSliceVar(&named, "scenario", nil, "the same as the argument SCENARIO (default "+defaultScenario+")")
	f.StringSliceVar(&o.Locks, "lock", []string{"naive", "safe"}, "lock kinds, by name or alias")
	f.StringVar(&o.Backend, "backend", autoBackend, "where servers run: "+strings.Join(a.backendNames(), ", "))
	f.StringVar(&o.Redis, "redis", "", "server version (default: "+cluster.Versions()[0]+" in containers, else what is there): "+strings.Join(cluster.Versions(), ", "))
	overrides := addLoadFlags(f, a)
	seed := f.Int64("seed", 0, "repeats a run's random choices")
	f.Lookup("seed").DefValue = "random"
	f.IntVar(&o.Trials, "trials", 1, "how often to play each scenario under each lock")
	f.StringVar(&o.Dir, "dir", defaultDir, "where each run gets its folder")
	f.StringArrayVar(&o.Outputs, "output", nil, "FORMAT or FORMAT=PATH, repeatable (default text): "+strings.Join(a.formatNames(), ", "))
	f.StringArrayVar(&o.Expect, "expect", nil, "LOCK=VERDICT instead of what the lock claims, repeatable: "+strings.Join(result.Expectations(), ", "))
	f.BoolVar(&o.AllowSimulated, "allow-simulated", false, "let results of the embedded backend meet the gate")
	f.StringVar(&o.Color, "color", "auto", "colours on stdout: "+strings.Join(colorModes, ", "))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.Scenarios = slices.Concat(args, named)
		overrides(o)
		if f.Changed("seed") {
			o.Seed = seed
		}
		return runF(cmd.Context(), o)
	}
	completeRun(cmd, a)
	return cmd
}

// addLoadFlags adds the flags that change a scenario's load, and returns what
// copies the given ones into the options.
func addLoadFlags(f *pflag.FlagSet, a *app) func(*runOptions) {
	stock := f.Int("stock", 0, "units at the start")
	instances := f.Int("instances", 0, "shop processes")
	buyers := f.Int("buyers", 0, "concurrent customers over all instances")
	ttl := f.Duration("ttl", 0, "of the lock; what depends on it scales along")
	own := ownLoad(a)
	for name, value := range own {
		f.Lookup(name).DefValue = value
	}
	return func(o *runOptions) {
		if f.Changed("stock") {
			o.Stock = stock
		}
		if f.Changed("instances") {
			o.Instances = instances
		}
		if f.Changed("buyers") {
			o.Buyers = buyers
		}
		if f.Changed("ttl") {
			o.TTL = ttl
		}
	}
}

// ownLoad is the load that scenarios bring along, for the help: what they
// agree on, or that they don't.
func ownLoad(a *app) map[string]string {
	span := func(of func(i int) any) string {
		own := ""
		for i := range a.scenarios {
			word := fmt.Sprint(of(i))
			if own != "" && own != word {
				return "the scenario's own"
			}
			own = word
		}
		return own
	}
	return map[string]string{
		"stock":     span(func(i int) any { return a.scenarios[i].Load.Stock }),
		"instances": span(func(i int) any { return a.scenarios[i].Load.Instances }),
		"buyers":    span(func(i int) any { return a.scenarios[i].Load.Buyers }),
		"ttl":       span(func(i int) any { return a.scenarios[i].Load.TTL }),
	}
}
