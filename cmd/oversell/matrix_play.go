package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/internal/engine"
	"github.com/oversell/oversell/internal/matrix"
	"github.com/oversell/oversell/result"
	"github.com/oversell/oversell/scenarios"
)

// sitting plays the cells of a matrix that aren't finished.
type sitting struct {
	*app
	o    *runOptions
	jobs map[*matrix.Cell]engine.Job

	mu      sync.Mutex
	m       *matrix.Matrix
	begun   time.Time
	before  int64 // PlayedMS of earlier sittings
	open    int   // cells that this sitting has to play
	done    int   // of those
	failing int   // cells that broke down, one after the other
}

// manyFailures in a row are no accident: the machine can't play any more.
const manyFailures = 3

// assign finds the job of every cell.
func (s *sitting) assign(p plan, backend string) error {
	for _, j := range p.jobs {
		c := s.m.Cell(j.Scenario.Name, j.Kind.Name, j.Redis)
		if c == nil {
			return fmt.Errorf("the matrix has no cell for %s under %s on %q", j.Scenario.Name, j.Kind.Name, j.Redis)
		}
		j.Command = s.cellCommand(j, p, backend)
		s.jobs[c] = j
	}
	if len(s.jobs) != len(s.m.Cells) {
		return fmt.Errorf("the matrix has %d cells, and its options make %d", len(s.m.Cells), len(s.jobs))
	}
	return nil
}

// cellCommand repeats one cell.
func (s *sitting) cellCommand(j engine.Job, p plan, backend string) string {
	o := *s.o
	o.All, o.Parallel, o.Redis, o.Files = false, 0, nil, nil
	l := j.Scenario.Load
	o.Stock, o.Instances, o.Buyers = insteadOf(o.Stock, l.Stock), insteadOf(o.Instances, l.Instances), insteadOf(o.Buyers, l.Buyers)
	if j.Redis != "" {
		o.Redis = []string{j.Redis}
	}
	one := p
	one.jobs, one.own = []engine.Job{j}, nil
	for _, name := range p.own {
		if name == j.Scenario.Name {
			o.Files, one.own = s.o.Files, p.own
		}
	}
	o.Dir = defaultDir
	return s.command(&o, one, backend)
}

// insteadOf is what was played, where something was given.
func insteadOf(given *int, played int) *int {
	if given == nil {
		return nil
	}
	return &played
}

// play plays until every cell is finished, ctx ends, or nothing works any more.
func (s *sitting) play(ctx context.Context, eng player) error {
	s.begun, s.before = time.Now(), s.m.PlayedMS
	var open []*matrix.Cell
	for _, c := range s.m.Cells {
		if c.Finished() {
			continue
		}
		if err := eng.Available(s.jobs[c]); err != nil {
			c.Skipped = reason(err)
			continue
		}
		open = append(open, c)
	}
	s.open = len(open)
	if err := s.save(); err != nil {
		return err
	}
	s.notes.tell(s.part())
	var hurried, patient []*matrix.Cell
	for _, c := range open {
		if s.jobs[c].Scenario.Load.TTL >= patientTTL {
			patient = append(patient, c)
		} else {
			hurried = append(hurried, c)
		}
	}
	if err := s.lane(ctx, eng, hurried, s.parallel(1)); err != nil {
		return err
	}
	return s.lane(ctx, eng, patient, s.parallel(patientRuns))
}

// Cells with a TTL of many seconds wait more than they work, for containers and
// failovers, and a machine that stands still for a moment means nothing to
// them. More of them can be played at a time, once all others are through.
const (
	patientTTL  = 10 * time.Second
	patientRuns = 2
)

// lane plays cells, some of them at a time, and each heavy one by itself.
func (s *sitting) lane(ctx context.Context, eng player, cells []*matrix.Cell, atATime int) error {
	room := semaphore.NewWeighted(int64(atATime))
	g, gctx := errgroup.WithContext(ctx)
	for _, c := range cells {
		takes := int64(1)
		switch sc := s.jobs[c].Scenario; {
		case heavy(sc):
			takes = int64(atATime)
		case stirs(sc):
			takes = min(patientRuns, int64(atATime))
		}
		if room.Acquire(gctx, takes) != nil {
			break // another cell has ended the sitting
		}
		g.Go(func() error {
			defer room.Release(takes)
			r, err := eng.Run(gctx, s.jobs[c])
			return s.finish(gctx, c, r, err)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// heavy reports whether a scenario keeps a small machine busy by itself: every
// attempt goes to five servers, or there is a crowd.
func heavy(s scenarios.Scenario) bool {
	return s.Shape == cluster.Quorum || max(s.Load.Buyers, s.Load.Requests) > crowd
}

// stirs reports whether servers start, end or change roles while the shop is
// open, which takes as much of a machine as several runs do: the longer it lasts,
// the more a lock, or its client, notices of it.
func stirs(s scenarios.Scenario) bool {
	return s.Shape == cluster.Sentinel || slices.ContainsFunc(s.Steps, func(st faults.Step) bool {
		switch st.Do.(type) {
		case faults.RestartServer, faults.KillServer:
			return true
		}
		return false
	})
}

// crowd is how many buyers, or purchases of theirs, make one.
const crowd = 200

// parallel is how many cells are played at a time, of those of which the
// machine carries so many times as many as of others.
func (s *sitting) parallel(times int) int {
	if s.o.Parallel > 0 {
		return times * s.o.Parallel
	}
	return times * max(1, s.machine().CPUs/cpusPerRun)
}

// cpusPerRun is what the processes of one run keep busy. With less, a lock that
// has to renew in time is a matter of luck.
const cpusPerRun = 3

// finish notes what came of a cell. Its error ends the sitting.
func (s *sitting) finish(ctx context.Context, c *matrix.Cell, r result.Run, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case errors.Is(err, engine.ErrUnavailable):
		c.Skipped = reason(err)
	case err != nil && ctx.Err() != nil:
		return jobError(s.jobs[c], err)
	case err != nil:
		c.Failed = err.Error()
		s.notes.say("failed: %v", jobError(s.jobs[c], err))
	default:
		c.Finish(r)
		s.announce(r)
	}
	s.done++
	s.notes.tell(s.part())
	if saveErr := s.save(); saveErr != nil {
		return saveErr
	}
	if c.Failed == "" {
		s.failing = 0
		return nil
	}
	if s.failing++; s.failing >= manyFailures {
		return fmt.Errorf("%d cells broke down one after the other: %w", s.failing, jobError(s.jobs[c], err))
	}
	return nil
}

// announce says what came out: everything where lines are read later, and what
// is odd where somebody watches a live line.
func (s *sitting) announce(r result.Run) {
	line := s.line(s.o, r)
	switch {
	case r.Gate != result.Pass:
		s.notes.say("%s  expected %s", line, r.Expected)
	case !s.liveLine():
		s.notes.say("%s", line)
	}
}

// save judges the matrix as it is and writes it into its folder.
func (s *sitting) save() error {
	s.m.PlayedMS = s.before + time.Since(s.begun).Milliseconds()
	s.m.Judge()
	return environment(writeFile(filepath.Join(filepath.FromSlash(s.m.Dir), matrixFile), s.m.JSON))
}

// barWidth is that of the bar of a matrix.
const barWidth = 20

// part is the bar, how much is done, and how long the rest will take.
func (s *sitting) part() string {
	n := s.m.Count()
	total := n.Cells - n.Skipped
	settled := total - (s.open - s.done)
	filled := 0
	if total > 0 {
		filled = barWidth * settled / total
	}
	text := fmt.Sprintf("[%s%s] %d/%d", strings.Repeat("#", filled), strings.Repeat(".", barWidth-filled), settled, total)
	if n.Unexpected > 0 {
		text += fmt.Sprintf(", %d not as expected", n.Unexpected)
	}
	if s.done > 0 && s.open > s.done {
		rest := time.Since(s.begun) / time.Duration(s.done) * time.Duration(s.open-s.done)
		text += fmt.Sprintf(", %s to go", rest.Round(time.Second))
	}
	return text
}

// reason is why a job can't be played, without the job's name.
func reason(err error) string {
	var no *engine.Unavailable
	if errors.As(err, &no) {
		return no.Why.Error()
	}
	return err.Error()
}
