package explore

import (
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/oversell/oversell/internal/child"
	"github.com/oversell/oversell/locks"
)

// Bubbles in one process wake each other's threads with every step, and two
// cores explore hardly faster than one. So what takes longer than a moment is
// gone on with in processes, one for each core, that share the graph.

// aMoment is what this process explores by itself: most cases are decided in it,
// before another process would have started.
var aMoment = 300 * time.Millisecond

// job is what a process that helps is told.
type job struct {
	Lock        string
	Buyers      int
	Masters     int
	Stock       int
	TTL         time.Duration
	Hazards     []Budget
	Faults      int
	Preemptions int
	Seed        uint64
	Unreduced   bool
	Recall      bool
	NoInfer     bool
	NoTurns     bool
	NoForget    bool
	NoCompose   bool
	InOrder     bool
	NoShed      bool
	StuckAfter  time.Duration
	Number, Of  int      // of the process, from 1
	Draw        Strategy // how to draw schedules, "" for exploring every one
}

// saying is what it says: the schedules that it has drawn, some at a time, and
// at the end what came of it.
type saying struct {
	Drawn []drawn
	End   *finding
}

type drawn struct {
	Path    []event
	Outcome outcome
	End     view
}

// finding is what came of it.
type finding struct {
	Remarks
	Nondeterministic *NondeterminismError `json:",omitempty"`
	Stuck            *StuckError          `json:",omitempty"`
	Anew             int                  `json:",omitempty"` // one more than the place in anew of why to explore otherwise
	Err              string               `json:",omitempty"`
}

func (r finding) error() error {
	switch {
	case r.Nondeterministic != nil:
		return r.Nondeterministic
	case r.Stuck != nil:
		return r.Stuck
	case r.Anew > 0:
		return anew[r.Anew-1]
	case r.Err != "":
		return errors.New(r.Err)
	}
	return nil
}

// helpFD is the file descriptor of the memory that processes share.
const helpFD = 3

// Help explores what in says, in memory that it shares with the process that has
// started it by Config.Help, until all is known there, and tells out what came of
// it. Or it draws schedules, and tells out of each, until in ends.
func Help(t *testing.T, kind func(name string) (locks.Kind, error), in io.Reader, out io.Writer) error {
	var j job
	told := json.NewDecoder(in)
	if err := told.Decode(&j); err != nil {
		return fmt.Errorf("explore: read what to explore: %w", err)
	}
	k, err := kind(j.Lock)
	if err != nil {
		return err
	}
	c := Case{
		Kind: k, Buyers: j.Buyers, Masters: j.Masters, Stock: j.Stock, TTL: j.TTL, Hazards: j.Hazards,
		Faults: j.Faults, Preemptions: j.Preemptions, Seed: j.Seed,
	}
	cfg := Config{
		T: t, Workers: 1, Unreduced: j.Unreduced, StuckAfter: j.StuckAfter,
		recall: j.Recall, noInfer: j.NoInfer, noTurns: j.NoTurns, noForget: j.NoForget, noCompose: j.NoCompose, inOrder: j.InOrder, noShed: j.NoShed,
	}
	say := gob.NewEncoder(out)
	var r finding
	if j.Draw != "" {
		s := newSampler(j.Draw)
		go func() {
			_, _ = io.Copy(io.Discard, io.MultiReader(told.Buffered(), in))
			s.stop.Store(true)
		}()
		err = s.drawFor(cfg, c, j, say)
	} else {
		err = exploreShared(cfg, c, j, &r)
	}
	r.Anew = 1 + slices.IndexFunc(anew[:], func(why error) bool { return errors.Is(err, why) })
	if err != nil && r.Anew == 0 && !errors.As(err, &r.Nondeterministic) && !errors.As(err, &r.Stuck) {
		r.Err = err.Error()
	}
	return say.Encode(saying{End: &r})
}

func exploreShared(cfg Config, c Case, j job, r *finding) error {
	m, err := openRegion(os.NewFile(helpFD, "memory"))
	if err != nil {
		return err
	}
	defer m.close()
	g := cfg.graph(c)
	g.liesIn(m)
	tm := &team{cfg: cfg, c: c, halt: g.halt}
	tm.crew.Store(uint64(j.Number))
	return tm.exhaust(g, &r.Remarks)
}

// drawFor draws every j.Of-th schedule until it is to stop, and says what they are.
func (s *sampler) drawFor(cfg Config, c Case, j job, say *gob.Encoder) error {
	var some []drawn
	tell := func() error {
		defer func() { some = some[:0] }()
		return say.Encode(saying{Drawn: some})
	}
	s.tell = func(d drawn) error {
		if some = append(some, d); len(some) < 100 {
			return nil
		}
		return tell()
	}
	s.next.Store(uint64(j.Number))
	s.step = uint64(j.Of)
	tm := &team{cfg: cfg, c: c, halt: func() { s.stop.Store(true) }}
	return errors.Join(tm.work(s.draw), tell())
}

// together lets as many processes as there are workers go on with g until all is
// known there.
func (cfg Config) together(ctx context.Context, c Case, g *graph) (noticed Remarks, err error) {
	done := make(chan struct{})
	defer g.watchFound(done)()
	defer close(done)
	noticed, broken, err := cfg.side(ctx, func(ctx context.Context, number int) (finding, error) {
		h, err := cfg.start(c, number, "", g.mem.file)
		if err != nil {
			return finding{}, err
		}
		return h.hear(ctx, nil)
	})
	if broken { // one may have died while the graph was its own
		g.abandoned()
	}
	return noticed, err
}

// side has as many processes as there are workers explore side by side. When one
// comes to no answer, which is an error of run's, all are ended, and broken says so.
func (cfg Config) side(ctx context.Context, run func(ctx context.Context, number int) (finding, error)) (noticed Remarks, broken bool, err error) {
	found, errs := make([]finding, cfg.Workers), make([]error, cfg.Workers)
	var all sync.WaitGroup
	ctx, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	for i := range found {
		all.Go(func() {
			var err error
			if found[i], err = run(ctx, i+1); err != nil {
				end(err)
			}
		})
	}
	all.Wait()
	for i, f := range found {
		noticed.add(f.Remarks)
		errs[i] = f.error()
	}
	if err := context.Cause(ctx); err != nil {
		return noticed, true, err
	}
	return noticed, false, worst(errs)
}

// helper is a process that helps.
type helper struct {
	*child.Process
	in  io.Closer
	out io.ReadCloser
}

// start starts one. What it is told stands open until the caller closes h.in.
func (cfg Config) start(c Case, number int, draw Strategy, mem *os.File) (*helper, error) {
	told, err := json.Marshal(job{
		Lock: c.Kind.Name, Buyers: c.Buyers, Masters: c.Masters, Stock: c.Stock, TTL: c.TTL, Hazards: c.Hazards, Faults: c.Faults,
		Preemptions: c.Preemptions, Seed: c.Seed, Unreduced: cfg.Unreduced, Recall: cfg.recall, NoInfer: cfg.noInfer,
		NoTurns: cfg.noTurns, NoForget: cfg.noForget, NoCompose: cfg.noCompose, InOrder: cfg.inOrder, NoShed: cfg.noShed, StuckAfter: cfg.StuckAfter, Number: number, Of: cfg.Workers, Draw: draw,
	})
	if err != nil {
		return nil, err
	}
	cmd := cfg.Help()
	if mem != nil {
		cmd.ExtraFiles = []*os.File{mem}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p, err := child.Start(cmd)
	if err != nil {
		return nil, fmt.Errorf("explore in a process of its own: %w", err)
	}
	_, _ = in.Write(told) // one that has died doesn't answer either
	return &helper{p, in, out}, nil
}

// hear hears the process out, and ends it when ctx does.
func (h *helper) hear(ctx context.Context, note func(drawn)) (finding, error) {
	defer context.AfterFunc(ctx, func() { _, _ = h.Kill(context.WithoutCancel(ctx)) })()
	defer func() { _ = h.in.Close() }()
	defer func() { _ = h.out.Close() }()
	said := gob.NewDecoder(h.out)
	for {
		var m saying
		if said.Decode(&m) != nil {
			<-h.Done()
			return finding{}, fmt.Errorf("a process that explored came to no answer: %s", h.How())
		}
		for _, d := range m.Drawn {
			note(d)
		}
		if m.End != nil {
			<-h.Done()
			return *m.End, nil
		}
	}
}

// together lets as many processes as there are workers draw schedules until s is
// to stop.
func (s *sampler) together(ctx context.Context, cfg Config, c Case) error {
	_, _, err := cfg.side(ctx, func(ctx context.Context, number int) (finding, error) {
		h, err := cfg.start(c, number, s.s.Strategy, nil)
		if err != nil {
			return finding{}, err
		}
		defer context.AfterFunc(s.stopped, func() { _ = h.in.Close() })()
		r, err := h.hear(ctx, s.note)
		if r.error() != nil {
			s.halt()
		}
		return r, err
	})
	return err
}

// halt ends exploring.
func (g *graph) halt() {
	g.lock()
	defer g.unlock()
	g.stop = true
}

// abandoned makes the graph usable after a process has died that may have had it.
func (g *graph) abandoned() {
	if g.mem != nil {
		release(&g.spin)
	}
}

// watchFound closes found when another process has found something. The returned
// function ends that.
func (g *graph) watchFound(done <-chan struct{}) (wait func()) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			g.lock()
			found := g.firstBad > 0
			g.unlock()
			if !found {
				continue
			}
			select {
			case <-g.found:
			default:
				close(g.found)
			}
			return
		}
	}()
	return func() { <-over }
}
