package explore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Sample is what schedules drawn at random have come to.
type Sample struct {
	Strategy Strategy
	Runs     int64
	Counts   Counts // of the runs
	Distinct int    // final states that were different, as far as they were kept
	Longest  int    // events of the longest run
	// Depth, Threads and Bound are PCT's: a run meets a given mistake that takes
	// Depth orderings with a probability of at least Bound.
	Depth, Threads int
	Bound          float64
}

// Chance is the probability that all runs together have met a given mistake of
// the depth that PCT was played for, at least.
func (s *Sample) Chance() float64 { return 1 - math.Pow(1-s.Bound, float64(s.Runs)) }

// pctDepth is the number of orderings that PCT aims at: a key that expires in
// time for one buyer and too early for another takes three.
const pctDepth = 3

// maxDistinct bounds the memory for counting final states.
const maxDistinct = 1_000_000

type sampler struct {
	mu    sync.Mutex
	s     Sample
	ends  map[view]struct{}
	worst map[Property][]event
	stop  atomic.Bool
	next  atomic.Uint64 // the latest schedule that was drawn
	step  uint64        // from one to the next
	limit uint64        // the last one
	maxed atomic.Int64  // the longest run so far
	evts  int64

	tell    func(drawn) error // hears of every run instead of note
	stopped context.Context   // ends when stop is set, but for a moment
	halt    func()            // sets it
}

func newSampler(how Strategy) *sampler {
	s := &sampler{ends: map[view]struct{}{}, worst: map[Property][]event{}, step: 1, limit: math.MaxUint64}
	s.s.Strategy = how
	s.maxed.Store(20)
	s.tell = func(d drawn) error {
		s.note(d)
		return nil
	}
	stopped, cancel := context.WithCancel(context.Background())
	s.stopped = stopped
	s.halt = func() {
		s.stop.Store(true)
		cancel()
	}
	return s
}

// draw plays schedules until it is to stop.
func (s *sampler) draw(k *worker) error {
	for !s.stop.Load() {
		n := s.next.Add(s.step)
		if n > s.limit {
			return nil
		}
		if err := s.run(k, rand.New(rand.NewPCG(k.w.c.Seed, n))); err != nil {
			return err
		}
	}
	return nil
}

// sample plays schedules drawn at random until the budget is used up, or a
// thousand have been played when there is none.
func (r *Report) sample(ctx context.Context, cfg Config, budget time.Duration) error {
	began := time.Now()
	cfg.noForget = true // no state stands for another here
	how := cfg.Strategy
	if how == Auto {
		how = PCT
	}
	s := newSampler(how)
	defer s.halt()
	defer context.AfterFunc(ctx, s.halt)()
	if budget > 0 {
		defer time.AfterFunc(budget, s.halt).Stop()
	} else {
		s.limit = 1000
	}
	defer report(cfg.Progress, s.progress)()
	var err error
	if cfg.Help != nil && budget > aMoment {
		err = s.together(ctx, cfg, r.Case)
	} else {
		tm := &team{cfg: cfg, c: r.Case, halt: s.halt}
		err = tm.work(s.draw)
	}
	if errors.Is(err, errReuses) && !cfg.noShed {
		cfg.noShed = true
		return r.sample(ctx, cfg, max(budget/10, budget-time.Since(began)))
	}
	if err != nil {
		return err
	}
	s.s.Distinct = len(s.ends)
	if s.s.Strategy == PCT {
		s.s.Depth, s.s.Threads = pctDepth, r.Case.Buyers+len(r.Case.Hazards)+1
		s.s.Bound = 1 / (float64(s.s.Threads) * math.Pow(float64(s.s.Longest), pctDepth-1))
	}
	r.Sampled = &s.s
	r.Runs += s.s.Runs
	r.Events += s.evts
	if r.Why == "" {
		r.Why = "schedules were drawn, not all played"
	}
	for _, p := range Properties() {
		if evs := s.worst[p]; evs != nil && r.Broke(p) == nil {
			small, err := minimise(cfg, r.Case, p, evs)
			if err != nil {
				return err
			}
			if err := r.found(p, small, false, cfg); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *sampler) progress() Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Progress{Runs: s.s.Runs, Events: s.evts, States: len(s.ends), Found: len(s.worst) > 0, Sampling: true}
}

// run plays one schedule.
func (s *sampler) run(k *worker, rng *rand.Rand) error {
	choose := uniform(rng)
	if s.s.Strategy == PCT {
		choose = priorities(rng, k.w.c, int(s.maxed.Load()))
	}
	w := k.w
	w.begin()
	var path, evs []event
	o := outcome(0)
	for {
		if evs = w.enabled(evs[:0]); len(evs) == 0 {
			o = w.scene().conclude()
			break
		}
		if len(path) >= maxEvents {
			o = w.scene().conclude() | cut
			break
		}
		ev := evs[choose(evs, len(path))]
		w.apply(ev)
		k.beat.Add(1)
		path = append(path, ev)
	}
	if w.trouble != nil {
		err := w.trouble
		_ = w.end()
		return err
	}
	s.maxed.Store(max(s.maxed.Load(), int64(len(path))))
	if err := s.tell(drawn{path, o, w.state()}); err != nil {
		_ = w.end()
		return err
	}
	return w.end()
}

// note counts a run.
func (s *sampler) note(d drawn) {
	path, o := d.Path, d.Outcome
	s.mu.Lock()
	defer s.mu.Unlock()
	s.s.Runs++
	s.evts += int64(len(path))
	s.s.Counts.addOutcome(o)
	s.s.Longest = max(s.s.Longest, len(path))
	if len(s.ends) < maxDistinct {
		s.ends[d.End] = struct{}{}
	}
	for _, p := range Properties() {
		if o.broke(p) && (s.worst[p] == nil || len(path) < len(s.worst[p])) {
			s.worst[p] = path
		}
	}
}

func uniform(rng *rand.Rand) func([]event, int) int {
	return func(evs []event, _ int) int { return rng.IntN(len(evs)) }
}

// priorities is PCT: every buyer and every hazard has a priority drawn at the
// start, the first that can act does, and at a few events drawn in advance
// whoever acts falls behind all others.
func priorities(rng *rand.Rand, c Case, events int) func([]event, int) int {
	rank := map[string]int{}
	order := rng.Perm(64)
	change := map[int]int{}
	for i := 1; i < pctDepth; i++ {
		change[rng.IntN(max(1, events))] = -i
	}
	of := func(e event) int {
		t := threadOf(e)
		if _, ok := rank[t]; !ok {
			rank[t] = order[len(rank)%64]
		}
		return rank[t]
	}
	return func(evs []event, taken int) int {
		best, many := 0, 0
		for i, e := range evs {
			switch p, q := of(e), of(evs[best]); {
			case i == 0 || p > q:
				best, many = i, 1
			case p == q: // one thread can do several things: any
				if many++; rng.IntN(many) == 0 {
					best = i
				}
			}
		}
		if low, ok := change[taken]; ok {
			rank[threadOf(evs[best])] = low
		}
		return best
	}
}

// threadOf is who does an event, to PCT.
func threadOf(e event) string {
	if e.act() <= giveBack {
		return fmt.Sprintf("buyer %d", e.buyer())
	}
	return e.act().String()
}
