package engine

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/instance"
	"github.com/oversell/oversell/wire"
)

// stage plays the scenario's steps: it hears of every moment on the wire and
// of every business call, and injects what is due while that moment stands still.
type stage struct {
	run     context.Context // of the whole run: healing outlives the moment that asked for it
	steps   []faults.Step
	target  faults.Target // without instance and moment
	rec     *history.Recorder
	hosts   func(id int) *instance.Host
	disable func(step int) bool // a test's: steps whose fault does nothing

	mu       sync.Mutex
	counts   []int  // per step: how often its point was reached
	begun    []bool // per step: an injection has begun
	injected []bool // per step: an injection has come to its end, with proof
	calls    map[string]*call
	heals    []heal
	killed   map[int]bool    // instances that a fault has killed
	paused   map[int]bool    // instances that a fault has paused
	bare     map[int]bool    // instances that were granted a key that has no expiry yet
	granted  map[string]bool // values with which a server was asked for the key, and whether one granted it
	active   int             // injections going on
	quiet    time.Duration
	rng      *rand.Rand

	healing sync.WaitGroup
}

// call is a business call that hasn't returned.
type call struct {
	slowed    bool // by a fault
	overtaken bool // someone else's call began meanwhile
}

func newStage(run context.Context, steps []faults.Step, t faults.Target, hosts func(int) *instance.Host, disable func(int) bool) *stage {
	return &stage{
		run: run, steps: steps, target: t, rec: t.History, hosts: hosts, disable: disable,
		counts: make([]int, len(steps)), injected: make([]bool, len(steps)), begun: make([]bool, len(steps)),
		calls: map[string]*call{}, killed: map[int]bool{}, paused: map[int]bool{}, bare: map[int]bool{}, granted: map[string]bool{},
		rng: rand.New(rand.NewPCG(uint64(t.Plan.Seed), 0x0ca11)),
	}
}

// available returns why the steps can't be played, if so.
func (s *stage) available() error {
	for _, st := range s.steps {
		if err := st.Do.Available(s.target); err != nil {
			return err
		}
	}
	return nil
}

// onWire is a wire.Handler: it tells points from commands on the lock's key.
func (s *stage) onWire(ctx context.Context, p wire.Point, x *wire.Exchange) wire.Action {
	if x.Key != s.target.Plan.Key {
		return wire.Pass
	}
	answer := wire.Pass
	points := pointsOf(p, x)
	if s.prolongs(p, x) {
		points = append([]faults.Point{faults.Renewing}, points...)
	}
	if s.gaveUp(p, x) {
		points = nil
	}
	for _, point := range points {
		m := faults.Moment{Point: point, Instance: x.Instance, Exchange: x}
		m.Answer = func(a wire.Action) { answer = a }
		s.reach(ctx, m)
	}
	return answer
}

// prolongs reports whether a blind expiry renews a key, as a watchdog without
// an owner check does. SETNX is the one way to acquire that can't set an expiry:
// what follows it gives the key its first.
func (s *stage) prolongs(p wire.Point, x *wire.Exchange) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case p == wire.OnReply && x.Role == wire.Acquire && x.Reply.Granted():
		s.bare[x.Instance] = x.Name == "SETNX"
	case p == wire.OnCommand && x.Role == wire.Expire:
		first := s.bare[x.Instance]
		s.bare[x.Instance] = false
		return !first
	}
	return false
}

// gaveUp reports whether a release comes from somebody who never had the key: a
// lock may send one after every attempt that failed, in case the server had
// granted the key after all.
func (s *stage) gaveUp(p wire.Point, x *wire.Exchange) bool {
	if x.Value == "" {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case x.Role == wire.Acquire && p == wire.OnLost:
		s.granted[x.Value] = true // perhaps
	case x.Role == wire.Acquire && p == wire.OnReply:
		s.granted[x.Value] = s.granted[x.Value] || x.Reply.Granted()
	case x.Role == wire.Release && p == wire.OnCommand:
		had, asked := s.granted[x.Value]
		return asked && !had
	}
	return false
}

// pointsOf tells which points a command on the lock's key stands at.
func pointsOf(p wire.Point, x *wire.Exchange) []faults.Point {
	switch {
	case p == wire.OnReply && !x.Reply.Granted():
		return nil
	case p == wire.OnReply && x.Role == wire.Acquire:
		return []faults.Point{faults.Acquired}
	case p == wire.OnReply && x.Role == wire.Release:
		return []faults.Point{faults.Released}
	case p == wire.OnCommand && x.Role == wire.Expire:
		return []faults.Point{faults.Holding}
	case p == wire.OnCommand && x.Role == wire.Renew:
		return []faults.Point{faults.Renewing, faults.Holding}
	case p == wire.OnCommand && x.Role == wire.Release:
		return []faults.Point{faults.Releasing, faults.Holding}
	}
	return nil
}

// onCall is one business call; it returns when the call does.
func (s *stage) onCall(ctx context.Context, c instance.Call) {
	if c.Commit {
		s.reach(ctx, faults.Moment{Point: faults.Committing, Instance: c.Instance, Purchase: c.Purchase, Token: c.Token})
		return
	}
	overtaken := s.begin(c.Purchase)
	defer s.end(c.Purchase)
	m := faults.Moment{Point: faults.Called, Instance: c.Instance, Purchase: c.Purchase, Token: c.Token}
	slowed := s.reach(ctx, m)
	if overtaken != "" {
		m.Point, m.Overtaken = faults.Overtaking, overtaken
		slowed += s.reach(ctx, m)
	}
	if slowed > 0 {
		return
	}
	t := time.NewTimer(s.ordinary())
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// ordinary draws the length of an ordinary call: half to one and a half times
// the plan's.
func (s *stage) ordinary() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.target.Plan.Call
	return d/2 + time.Duration(s.rng.Int64N(int64(d)+1))
}

// begin notes a call and returns the slowed call that it is the first to overtake.
func (s *stage) begin(purchase string) (overtaken string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p, c := range s.calls {
		if c.slowed && !c.overtaken {
			c.overtaken = true
			overtaken = p
			break
		}
	}
	s.calls[purchase] = &call{}
	return overtaken
}

func (s *stage) end(purchase string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, purchase)
}

// reach injects what is due at m, one step after the other, and returns how many.
func (s *stage) reach(ctx context.Context, m faults.Moment) int {
	due := s.due(&m)
	for _, i := range due {
		s.inject(ctx, i, m)
	}
	return len(due)
}

func (s *stage) due(m *faults.Moment) []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var due []int
	for i, st := range s.steps {
		w := st.When
		switch {
		case w.Point != m.Point,
			w.After > 0 && !s.injected[w.After-1],
			w.During > 0 && !s.begun[w.During-1]:
			continue
		}
		s.counts[i]++
		if w.Due(s.counts[i]) {
			m.Count = s.counts[i]
			due = append(due, i)
		}
	}
	for _, i := range due {
		s.begun[i] = true
	}
	if c := s.calls[m.Purchase]; c != nil && len(due) > 0 && m.Point == faults.Called {
		c.slowed = true
	}
	return due
}

// injectBound, and three TTLs, bound an injection.
const injectBound = 30 * time.Second

func (s *stage) inject(ctx context.Context, i int, m faults.Moment) {
	st := s.steps[i]
	name := st.Do.Name()
	s.rec.Record(history.Event{Kind: history.FaultDue, Fault: name, Step: i + 1, Instance: m.Instance, Purchase: m.Purchase})
	if s.disable != nil && s.disable(i+1) {
		return
	}
	t := s.target
	t.Moment = m
	if h := s.hosts(m.Instance); h != nil {
		t.Instance = victim{h, s}
	}
	s.busy(+1)
	began := s.rec.Now()
	bound, cancel := context.WithTimeout(ctx, injectBound+3*t.Plan.TTL)
	ev, undo, err := st.Do.Inject(bound, t)
	cancel()
	s.busy(-1)
	e := history.Event{Fault: name, Step: i + 1, Instance: m.Instance, Purchase: m.Purchase, Took: s.rec.Now() - began}
	switch {
	case err != nil && ctx.Err() != nil:
		return // the run is over, or the instance is gone: nothing was shown either way
	case err != nil:
		e.Kind, e.Err = history.FaultFailed, err.Error()
		s.rec.Record(e)
	default:
		e.Kind, e.Text = history.FaultInjected, ev.Proof
		s.rec.Record(e)
		s.mu.Lock()
		s.injected[i] = true
		s.mu.Unlock()
	}
	s.later(i, name, undo)
}

func (s *stage) busy(by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active += by
	s.quiet = s.rec.Now()
}

// playTimed injects the steps that stand at a time, as the load goes on.
func (s *stage) playTimed(ctx context.Context) {
	for i, st := range s.steps {
		if st.When.Point != "" {
			continue
		}
		s.healing.Go(func() {
			t := time.NewTimer(st.When.At)
			defer t.Stop()
			select {
			case <-t.C:
				s.inject(ctx, i, faults.Moment{Count: 1})
			case <-ctx.Done():
			}
		})
	}
}

// idleSince returns since when no fault is being injected; ok is false while one is.
func (s *stage) idleSince() (since time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.quiet, s.active == 0
}

func (s *stage) wasKilled(id int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.killed[id]
}

func (s *stage) wasPaused(id int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.paused[id]
}

// victim is an instance that faults may kill or pause: that this was planned
// is noted before it happens.
type victim struct {
	*instance.Host
	stage *stage
}

func (v victim) Kill(ctx context.Context) (string, error) {
	v.note(v.stage.killed)
	return v.Host.Kill(ctx)
}

func (v victim) Pause(ctx context.Context) error {
	v.note(v.stage.paused)
	return v.Host.Pause(ctx)
}

func (v victim) note(planned map[int]bool) {
	v.stage.mu.Lock()
	defer v.stage.mu.Unlock()
	planned[v.ID()] = true
}
