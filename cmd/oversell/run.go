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
	"github.com/oversell/oversell/internal/sweep"
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
	Files     []string // scenarios of the user's own
	Backend   string
	Redis     []string // versions

	Stock     *int
	Instances *int
	Buyers    *int
	TTL       *time.Duration
	TimeScale *float64

	Seed   *int64
	Trials int
	Dir    string

	Sweep    string
	All      bool
	Resume   string // the folder of a matrix
	Parallel int    // runs at a time; 0 for what the machine can

	serverOptions
	metricsOptions
	baselineOptions

	Outputs        []string
	Expect         []string
	AllowSimulated bool
	Color          string

	given []string // the flags that were given
}

// has reports whether a flag was given.
func (o *runOptions) has(flag string) bool { return slices.Contains(o.given, flag) }

const runLong = `Run plays scenarios under lock kinds and compares what came out with what each
lock claims to withstand: a lock that withstands the scenario's hazard must sell
exactly what there is, and one that doesn't must be caught.

Without a scenario it plays ` + defaultScenario + `; "all" plays every scenario that the backend
can, and -f plays one of your own (see "oversell list scenario"). Progress goes to stderr, results to stdout. Every run leaves a folder with
its plan, history and server logs below --dir.

With --all it plays every scenario under every lock and prints the matrix. A
matrix that was interrupted goes on with --resume. With --sweep it plays with one
number of the scenario and says from which value on a lock oversells.

See "oversell help exit-codes" for the exit codes.`

const runExample = `  oversell run
  oversell run sentinel-failover --lock safe,lua-watchdog
  oversell run all --backend process --output junit=oversell.xml
  oversell run --lock lua-release --expect lua-release=oversold
  oversell run --lock safe --trials 300
  oversell run all --baseline old/result.json --fail-on new
  oversell run -f mine.yaml --redis 7.0,valkey-9.1
  oversell run flash-sale --time-scale 1
  oversell run --lock naive --sweep ttl=50ms..1s
  oversell run --all --output markdown=matrix.md --output text
  oversell run --backend embedded --allow-simulated
  oversell run --inventory postgres
  oversell run all --metrics 9464 --metrics-linger 30s
  oversell run --backend remote --redis-url rediss://user@test-redis:6379/1`

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
	f.StringArrayVarP(&o.Files, "file", "f", nil, "a scenario of your own, as YAML; repeatable")
	f.StringSliceVar(&o.Locks, "lock", []string{"naive", "safe"}, "lock kinds, by name or alias (with --all: every one)")
	f.StringVar(&o.Backend, "backend", autoBackend, "where servers run: "+strings.Join(a.backendNames(), ", "))
	f.StringSliceVar(&o.Redis, "redis", nil, "server versions; each job is played on every one (default: "+cluster.Versions()[0]+" in containers, else what is there): "+strings.Join(cluster.Versions(), ", "))
	addServerFlags(f, &o.serverOptions)
	overrides := addLoadFlags(f, a)
	scale := f.Float64("time-scale", 0, "how many times faster than life incidents are played; 1 is the real thing")
	f.Lookup("time-scale").DefValue = "the scenario's own"
	addModeFlags(f, o)
	addMetricsFlags(f, &o.metricsOptions)
	seed := f.Int64("seed", 0, "repeats a run's random choices")
	f.Lookup("seed").DefValue = "random"
	f.IntVar(&o.Trials, "trials", 1, "how often to play each scenario under each lock")
	f.StringVar(&o.Dir, "dir", defaultDir, "where each run gets its folder")
	f.StringArrayVar(&o.Outputs, "output", nil, a.outputUsage())
	f.StringArrayVar(&o.Expect, "expect", nil, "LOCK=VERDICT instead of what the lock claims, repeatable: "+strings.Join(result.Expectations(), ", "))
	f.BoolVar(&o.AllowSimulated, "allow-simulated", false, "let results of the embedded backend meet the gate")
	addBaselineFlags(f, &o.baselineOptions)
	f.StringVar(&o.Color, "color", "auto", colorUsage)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.Scenarios = slices.Concat(args, named)
		overrides(o)
		if f.Changed("seed") {
			o.Seed = seed
		}
		if f.Changed("time-scale") {
			o.TimeScale = scale
		}
		f.Visit(func(f *pflag.Flag) { o.given = append(o.given, f.Name) })
		return runF(cmd.Context(), o)
	}
	completeRun(cmd, a)
	return cmd
}

// addModeFlags adds the flags that make more of a run than a list of jobs.
func addModeFlags(f *pflag.FlagSet, o *runOptions) {
	f.StringVar(&o.Sweep, "sweep", "", "NAME=FROM..TO[/N] or NAME=A,B,C: play every value of "+strings.Join(sweep.Names(), ", "))
	f.BoolVar(&o.All, "all", false, "the matrix: every scenario under every lock; --scenario, --lock and --redis narrow it down")
	f.StringVar(&o.Resume, "resume", "", "the folder of a matrix to go on with; what came to a verdict isn't played again")
	f.IntVar(&o.Parallel, "parallel", 0, "how many runs of a matrix go on at a time")
	f.Lookup("parallel").DefValue = fmt.Sprintf("one for every %d CPUs, twice as many with a TTL from %s on", cpusPerRun, patientTTL)
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
