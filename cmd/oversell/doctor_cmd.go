package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/internal/doctor"
)

// examination is how long all of doctor's checks together may take.
const examination = 10 * time.Second

type doctorOptions struct {
	JSON bool
	Dir  string
}

// newDoctorCmd makes the command; runF, when not nil, takes the place of the
// examination itself.
func newDoctorCmd(a *app, runF func(context.Context, *doctorOptions) error) *cobra.Command {
	if runF == nil {
		runF = a.doctor
	}
	o := &doctorOptions{}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine can test on",
		Long: `Doctor looks for Docker, Redis servers and what else a run needs, and says for
each what it found and what can be done. It starts and changes nothing.

It exits with 0 when there is a backend with real servers, else with 3.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), o) },
	}
	cmd.Flags().BoolVar(&o.JSON, "json", false, "as JSON")
	cmd.Flags().StringVar(&o.Dir, "dir", defaultDir, "the folder in which runs are to be kept")
	return cmd
}

func (a *app) doctor(ctx context.Context, o *doctorOptions) error {
	looking, cancel := context.WithTimeout(ctx, examination)
	defer cancel()
	report := doctor.Examine(looking, a.examination(o.Dir))
	if interrupted(ctx) {
		return orInterrupted(ctx, ctx.Err())
	}
	write := report.Text
	if o.JSON {
		write = report.JSON
	}
	if err := write(a.out); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if !report.Usable {
		return exitWith(exitEnvironment)
	}
	return nil
}

// examination lists doctor's checks: the backends, what they use, the machine.
func (a *app) examination(dir string) []doctor.Check {
	var checks []doctor.Check
	for _, b := range a.backends {
		checks = append(checks, backendCheck(b))
	}
	checks = append(checks, a.details...)
	checks = append(checks,
		doctor.Limits(a.machine(), usualInstances, usualBuyers),
		doctor.Folder(dir, canWriteIn),
	)
	for _, s := range a.sweepers {
		checks = append(checks, s.check())
	}
	return checks
}

// What scenarios usually bring along.
const (
	usualInstances = 6
	usualBuyers    = 200
)

// backendCheck is doctor's look at a backend.
func backendCheck(b cluster.Backend) doctor.Check {
	return doctor.Check{
		Name: b.Name() + " backend",
		Real: b.Real(),
		Look: func(ctx context.Context) []doctor.Line {
			what, err := b.Probe(ctx, "")
			line := doctor.Found(what, err)
			if err == nil && !b.Real() {
				line.Status = doctor.Warn
				line.Text += "; its results are simulated"
			}
			return []doctor.Line{line}
		},
	}
}

// check is doctor's look at what dead runs have left.
func (s sweeper) check() doctor.Check {
	return doctor.Check{Name: s.name + " leftovers", Look: func(ctx context.Context) []doctor.Line {
		things, err := s.leftovers(ctx)
		switch {
		case err != nil:
			return []doctor.Line{{Status: doctor.Warn, Text: fmt.Sprintf("not looked at: %v", err)}}
		case len(things) == 0:
			return []doctor.Line{{Status: doctor.OK, Text: "none"}}
		}
		return []doctor.Line{{Status: doctor.Warn, Text: strings.Join(things, ", "), Hint: "oversell clean removes them"}}
	}}
}
