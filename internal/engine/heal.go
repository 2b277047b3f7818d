package engine

import (
	"context"
	"time"

	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/history"
)

// heal is a fault that hasn't been put right yet.
type heal struct {
	step int
	name string
	do   faults.Heal
}

// later plans the healing of step i: after its For, or at the end of the load.
func (s *stage) later(i int, name string, undo faults.Heal) {
	if undo == nil {
		return
	}
	h := heal{step: i + 1, name: name, do: undo}
	after := s.steps[i].For
	if after == 0 {
		s.mu.Lock()
		s.heals = append(s.heals, h)
		s.mu.Unlock()
		return
	}
	s.busy(+1) // a server that is on its way back is no stall
	s.healing.Go(func() {
		defer s.busy(-1)
		t := time.NewTimer(after)
		defer t.Stop()
		select {
		case <-t.C:
			s.heal(s.run, h)
		case <-s.run.Done():
		}
	})
}

// healBound bounds the healing of one fault. A sentinel older than 7.0 takes
// some ten seconds to demote a master that came back.
const healBound = 30 * time.Second

func (s *stage) heal(ctx context.Context, h heal) {
	e := history.Event{Kind: history.FaultHealed, Fault: h.name, Step: h.step}
	ctx, cancel := context.WithTimeout(ctx, healBound)
	defer cancel()
	how, err := h.do(ctx)
	if e.Text = how; err != nil {
		e.Kind, e.Err = history.FaultFailed, "heal: "+err.Error()
	}
	s.rec.Record(e)
}

// healAll heals, newest first, what is not healed yet, and waits for the rest.
func (s *stage) healAll(ctx context.Context) {
	s.mu.Lock()
	heals := s.heals
	s.heals = nil
	s.mu.Unlock()
	for i := len(heals) - 1; i >= 0; i-- {
		s.heal(ctx, heals[i])
	}
	s.healing.Wait()
}
